import { headerFaults } from "../delivery/header-faults.js";
import type { UnreadableBody, WebhookRequest } from "../delivery/request.js";
import { spreadRetryAfterMs } from "./retry-after.js";
import type { Ending } from "./trace.js";

/** The end of a request whose body could not be read, or is larger than `maxBodyBytes`. */
export function unreadable({ reason, advice }: UnreadableBody, maxBodyBytes: number): Ending {
  const describeLimit = () => `The limit is ${String(maxBodyBytes)} bytes.`;
  return {
    outcome: reason,
    advice,
    fact: reason === "body_too_large" && advice === undefined ? describeLimit : undefined,
  };
}

/** The end of a request with a header that is missing, repeated or malformed. */
export function malformed(request: WebhookRequest): Ending {
  return { outcome: "malformed", fact: () => headerFaults(request.headers) };
}

/** The end of a delivery that came while as many were running as may. */
export function overloaded(id: string): Ending {
  return { outcome: "overloaded", retryAfterMs: spreadRetryAfterMs(id) };
}
