import type { AuthenticDelivery } from "../../src/answer/observers.js";
import { OUTCOMES, type WebhookOutcome } from "../../src/answer/outcome.js";
import type { Intake } from "./delivery-intake.js";

/**
 * The delivery with the answer that the sender got, for the recorder. Undefined if it is not authentic. With
 * an app behind, the outcome comes from the app's answer, since the sender never saw the receiver's.
 */
export function answeredDelivery({
  verification: { authentic },
  forwarded,
  status,
}: Intake): AuthenticDelivery | undefined {
  if (authentic === undefined || forwarded === undefined) return authentic;
  const named = "error" in forwarded ? undefined : forwarded.outcome;
  const outcome = isOurs(named) && OUTCOMES[named].status === status ? named : plainOutcome(status);
  return { ...authentic, outcome, status };
}

function isOurs(outcome: string | undefined): outcome is WebhookOutcome {
  return outcome !== undefined && Object.hasOwn(OUTCOMES, outcome);
}

/** An app without this library names no outcome: only its status shows whether it accepted the delivery. */
function plainOutcome(status: number): WebhookOutcome {
  return status >= 200 && status <= 299 ? "handled" : "handler_failed";
}
