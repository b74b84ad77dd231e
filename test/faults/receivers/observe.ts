import type { Logger, OutcomeReport } from "identity-gateway-webhooks";
import type { Ledger } from "./ledger.js";

/** How the library says that a success could not be told, to the store or to the queue. */
const UNSETTLED =
  /completion failed|completion given up|could not be written|changed its state before|has expired/;

/** Puts what a receiver and a worker say of themselves into the ledger. */
export function observe(ledger: Ledger): {
  readonly logger: Logger;
  readonly onOutcome: (report: OutcomeReport) => void;
} {
  const note = (message: string, details: unknown): void => {
    if (!UNSETTLED.test(message)) return;
    const { id, jobId } = Object(details) as { id?: unknown; jobId?: unknown };
    // A job's id is the delivery's, where that is a UUID.
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
