import type { AuthenticDelivery } from "../../src/answer/observers.js";
import { OUTCOMES, type WebhookOutcome } from "../../src/answer/outcome.js";
import { HEADERS } from "../../src/delivery/headers.js";
import { formatFixture } from "../fixtures/fixture.js";
import { recordedType } from "../recorder/captured-delivery.js";
import { createRecordedFixture } from "../recorder/recorded-fixture.js";
import { checkRedactionRules } from "../recorder/redaction-rules.js";
import { headerOf } from "../sending/wire.js";
import { TEST_SECRET } from "../signed-delivery.js";
import type { Intake } from "./delivery-intake.js";
import { bodyOf, type ListenedDelivery } from "./listened-delivery.js";

/**
 * The delivery with the answer that the sender got, for the recorder. Undefined if it is not authentic, or failed
 * on request.
 */
export function answeredDelivery({
  verification: { authentic },
  forwarded,
  fails,
  answer,
}: Intake): AuthenticDelivery | undefined {
  if (fails || authentic === undefined || answer === undefined) return undefined;
  if (forwarded === undefined) return authentic;
  const { status } = answer;
  const named = "error" in forwarded ? undefined : forwarded.outcome;
  return { ...authentic, outcome: outcomeOfApp(named, status), status };
}

/** The delivery as a redacted fixture. Undefined if it is not authentic. */
export async function fixtureOf(delivery: ListenedDelivery): Promise<string | undefined> {
  const { id, type = "", status, at, forwarded, outcome } = delivery;
  const body = bodyOf(delivery);
  if (id === undefined || body === undefined) return undefined;
  const recordedFixtureOf = createRecordedFixture(TEST_SECRET, checkRedactionRules());
  const { fixture } = await recordedFixtureOf({
    id,
    timestamp: Number(headerOf(delivery.headers, HEADERS.timestamp.name)),
    type: recordedType(type),
    contentType: undefined,
    body,
    receivedAt: new Date(at),
    outcome: outcomeOfApp(forwarded === undefined ? outcome : forwarded.outcome, status),
    status,
  });
  return formatFixture(fixture);
}

/**
 * With an app behind, the outcome comes from the app's answer, since the sender never saw the receiver's. An app
 * without this library names none: only its status shows whether it accepted the delivery.
 */
function outcomeOfApp(named: string | undefined, status: number): WebhookOutcome {
  const isOurs = named !== undefined && Object.hasOwn(OUTCOMES, named);
  if (isOurs && OUTCOMES[named as WebhookOutcome].status === status) return named as WebhookOutcome;
  return status >= 200 && status <= 299 ? "handled" : "handler_failed";
}
