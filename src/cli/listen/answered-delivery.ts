import type { AuthenticDelivery } from "../../answer/observers.js";
import { OUTCOMES, type Outcome } from "../../answer/outcome.js";
import type { Intake } from "./delivery-intake.js";

/**
 * A delivery with what the sender was answered, as a recorder is to hear of it; undefined where it is not
 * authentic. In front of an app the app decides: what the judge would have said of it was told nobody.
 */
export function answeredDelivery({
  judgement: { authentic },
  forwarded,
  status,
}: Intake): AuthenticDelivery | undefined {
  if (authentic === undefined || forwarded === undefined) return authentic;
  const named = "error" in forwarded ? undefined : forwarded.outcome;
  const outcome = isOurs(named) && OUTCOMES[named].status === status ? named : plainOutcome(status);
  return { ...authentic, outcome, status };
}

function isOurs(outcome: string | undefined): outcome is Outcome {
  return outcome !== undefined && Object.hasOwn(OUTCOMES, outcome);
}

/** An app of another make names no outcome: whether it took the delivery is all that can be seen. */
function plainOutcome(status: number): Outcome {
  return status >= 200 && status <= 299 ? "handled" : "handler_failed";
}
