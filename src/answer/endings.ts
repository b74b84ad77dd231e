import { headerFaults } from "../delivery/header-faults.js";
import type { UnreadableBody, WebhookRequest } from "../delivery/request.js";
import type { Ending } from "./trace.js";

/** The end of a request whose body could not be read, or is larger than `maxBodyBytes`. */
export function unreadable({ reason, advice }: UnreadableBody, maxBodyBytes: number): Ending {
  const describeLimit = () => `The limit is ${String(maxBodyBytes)} bytes.`;
  return {
    outcome: reason,
    advice,
    fact: reason === "body_too_large" ? describeLimit : undefined,
  };
}

/** The end of a request with a header that is missing, repeated or malformed. */
export function malformed(request: WebhookRequest): Ending {
  return { outcome: "malformed", fact: () => headerFaults(request.headers) };
}
