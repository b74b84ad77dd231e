import { HEADERS } from "../delivery/headers.js";
import type { WebhookOutcome } from "./outcome.js";

/** Why one outcome happens, for the operator. */
export interface OutcomeCauses {
  /** The usual causes and what to do about each, most frequent first. */
  readonly causes: readonly string[];
  /** The command that finds out more. */
  readonly command?: string;
}

const COMMAND = "npx identity-gateway-webhooks";
const EXPLAIN = `${COMMAND} explain request.txt`;
const DOCTOR = `${COMMAND} doctor <url>`;

/**
 * Why each outcome happens, and the command that finds out more. The log, the command line and
 * `docs/answers.md` use these texts. They contain no part of a request, and no answer contains them.
 */
export const OUTCOME_CAUSES: Readonly<Record<WebhookOutcome, OutcomeCauses>> = {
  handled: { causes: [] },
  duplicate: { causes: ["the gateway did not get the first 200 and sent the delivery again"] },
  discarded: { causes: [] },
  unhandled: {
    causes: [
      "the webhook is registered at the gateway for a type that handlers does not name: add the handler, or deactivate that webhook",
      'handlers.delete_my_data_event names some event types only: add "*" for the others',
    ],
  },
  in_flight: {
    causes: [
      "the gateway sent the delivery again while its handler still runs",
      "a process died while handling the delivery, and its lease has not ended: nothing to do, a retry takes over when it ends",
    ],
  },
  reachable: {
    causes: ["the gateway or a load balancer checks whether the URL is reachable"],
  },
  method_not_allowed: {
    causes: ["a client that uses a method other than POST, GET, HEAD and OPTIONS"],
  },
  malformed: {
    causes: [
      "a request that is not the gateway's",
      "a proxy or framework in front that drops, renames, repeats or rewrites X-Webhook- headers: make it pass all four on unchanged",
      "a redirect in front (to https, to www, to a path with or without a slash at its end) turned the delivery into a GET without body: register the URL that the redirect leads to",
    ],
    command: EXPLAIN,
  },
  unsigned: {
    causes: [
      "the webhook has no secret at the gateway (has_secret is false there): give it one with the command webhooks rotate",
      `a proxy in front that drops ${HEADERS.signature.name}`,
      "a request that is not the gateway's",
      "the gateway cannot sign at all: only then replace secret with acceptUnsignedDeliveries: true, which accepts deliveries from anyone",
    ],
    command: EXPLAIN,
  },
  signature_mismatch: {
    causes: [
      "the secret here differs from the one at the gateway, or belongs to the other webhook type: compare the two; a secret function that returns undefined gives this too",
      "a secret that was changed on one side only: set secret to [new, old], the new one first, until both sides use the new one",
      "quotes or a trailing newline that were registered as part of the secret",
      "a proxy or body parser in front that changed the body: mount the receiver before parsers",
      "a request that is not the gateway's",
    ],
    command: EXPLAIN,
  },
  stale: {
    causes: [
      "the clock of this machine or of the gateway is off: compare it with NTP",
      "a queue or proxy in front that delays requests",
      "the gateway repeats the first timestamp at each attempt: raise timestampToleranceMs (with a store that survives restarts, at most to retentionMs)",
      "someone replays a captured delivery",
    ],
    command: EXPLAIN,
  },
  type_mismatch: {
    causes: [
      `a proxy in front that sets ${HEADERS.type.name}, which is not signed`,
      "someone replays a captured delivery under another type",
    ],
    command: EXPLAIN,
  },
  body_too_large: {
    causes: [
      "deliveries have grown: raise maxBodyBytes, and the limits of proxies in front",
      "a request that is not the gateway's",
    ],
    command: DOCTOR,
  },
  body_timeout: {
    causes: [
      "a slow or broken connection between the gateway and this server",
      "a proxy in front that buffers uploads: make it pass them on at once, or raise the adapter's bodyTimeoutMs (silence) or uploadTimeoutMs (whole upload)",
    ],
    command: DOCTOR,
  },
  body_consumed: {
    causes: [
      "a body parser, logger or validator in front read the body first: mount the receiver before it",
    ],
    command: DOCTOR,
  },
  unrecognized: {
    causes: [
      "the gateway sends a type or shape that is newer than this version of the library: update the library, or add handlers.unrecognized to accept such deliveries",
    ],
    command: `${COMMAND} listen`,
  },
  handler_failed: {
    causes: ["a bug in the handler, or what it needs is down: see the error"],
  },
  handler_timeout: {
    causes: [
      "the handler waits for something slow or for a lock",
      "the work is long: raise handlerTimeoutMs, or use an inbox, which acknowledges as soon as the delivery is in a queue",
    ],
  },
  retry_later: { causes: [] },
  overloaded: {
    causes: [
      "more deliveries at once than maxConcurrentDeliveries allows: make the handler faster, raise the option, or use an inbox, which acknowledges as soon as the delivery is in a queue",
      "with a transactional store, no connection became free in time, or too many deliveries wait for one: make the handler faster, use a lease store or an inbox, or make the pool larger",
      "handlers wait for something that is down: fix that first",
    ],
  },
  store_unavailable: {
    causes: [
      "the store is down, slow or not reachable from here: see the error",
      "its table or schema is missing: run migrate()",
    ],
  },
  secret_unavailable: {
    causes: [
      "the secret function threw or took longer than dependencyTimeoutMs: see the error",
      "it returned an empty secret, or one with white space at an end",
    ],
  },
  draining: { causes: ["drain() was called: this process is shutting down"] },
  internal_error: {
    causes: [
      "the now option threw: fix it; otherwise a bug in this library: please report it with the error",
    ],
  },
};

/** The causes as one sentence; empty if none is known. */
export function usualCauses(outcome: WebhookOutcome): string {
  const { causes } = OUTCOME_CAUSES[outcome];
  return causes.length === 0 ? "" : `Usual causes: ${causes.join("; ")}.`;
}

const READ_ONLY =
  "the store writes to a replica, or the server has been made read-only: connect to the primary, and let the client reconnect after a failover";

/** What the code of a store's error says by itself. */
const CAUSE_BY_CODE: Readonly<Record<string, string>> = {
  transaction_aborted:
    "the handler caught the error of a failed statement and went on, so its transaction could only be rolled back: let the error pass, or run the statement in a savepoint",
  READONLY: READ_ONLY,
  // PostgreSQL, MySQL and MariaDB, SQLite.
  "25006": READ_ONLY,
  ER_OPTION_PREVENTS_STATEMENT: READ_ONLY,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: READ_ONLY,
  ER_READ_ONLY_MODE: READ_ONLY,
  SQLITE_READONLY: READ_ONLY,
};

/** The cause that an error's code names. The clients of Redis give the code as the first word of the message. */
function causeByCode(error: unknown): string | undefined {
  const { code, message } = Object(error) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  const first = /^(?:Command failed: )?(READONLY) /.exec(String(message))?.[1];
  const known = [code, first].find(
    (one) => typeof one === "string" && Object.hasOwn(CAUSE_BY_CODE, one),
  );
  return known === undefined ? undefined : CAUSE_BY_CODE[known as string];
}

/** The causes and the command, one sentence each, for the log. An error with a cause of its own gives that alone. */
export function causesAndCommand(outcome: WebhookOutcome, error?: unknown): string {
  const own = outcome === "store_unavailable" ? causeByCode(error) : undefined;
  if (own !== undefined) return `Cause: ${own}.`;
  const { command } = OUTCOME_CAUSES[outcome];
  const causes = usualCauses(outcome);
  return command === undefined ? causes : `${causes} To find out more: ${command}`;
}
