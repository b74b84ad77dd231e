import type { DeliveryStore, OutcomeReport, WebhookLogger } from "identity-gateway-webhooks";
import type { Ledger } from "./ledger.js";

/** The log lines for a success that could not be recorded in the store or the queue. */
const UNSETTLED =
  /completion failed|completion given up|could not be written|changed its state before|has expired/;

/** Writes the reports of a receiver and a worker into the ledger. */
export function observe(ledger: Ledger): {
  readonly logger: WebhookLogger;
  readonly onOutcome: (report: OutcomeReport) => void;
} {
  const note = (message: string, details: unknown) => {
    if (!UNSETTLED.test(message)) return;
    const { id, jobId } = Object(details) as { id?: unknown; jobId?: unknown };
    // The id of a job is that of the delivery, if it is a UUID.
    const known = id ?? jobId;
    if (typeof known === "string") ledger.write({ kind: "unsettled", id: known });
  };
  return {
    logger: { warn: note, error: note },
    onOutcome({ outcome, id }) {
      if (outcome === "handled" && id !== undefined) ledger.write({ kind: "settled", id });
    },
  };
}

/** The store of a worker. Records in the ledger when it has the completion of a job. */
export function notingCompletions(store: DeliveryStore, ledger: Ledger): DeliveryStore {
  return {
    claim: (...given) => store.claim(...given),
    renew: (...given) => store.renew(...given),
    release: (...given) => store.release(...given),
    async complete(key, ...given) {
      await store.complete(key, ...given);
      ledger.write({ kind: "settled", id: key.replace(/^job#/, "") });
    },
  };
}
