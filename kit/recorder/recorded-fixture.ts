import { signDelivery } from "../../src/signature/sign-delivery.js";
import { isWebhookType } from "../../src/delivery/headers.js";
import type { Fixture } from "../fixtures/fixture.js";
import { jsonOf } from "../json-parts.js";
import { answerOf } from "../plain-receiver.js";
import type { CapturedDelivery } from "./captured-delivery.js";
import { documentedEvent } from "./documented-fields.js";
import { createRecordedIds } from "./recorded-ids.js";
import { DistinctPlaceholders } from "./distinct-placeholders.js";
import { redactBody } from "./redact-body.js";
import type { Place } from "./redaction-rules.js";

/** A delivery ready to be written. */
export interface RecordedFixture {
  /** Name of its file without number and extension. */
  readonly stem: string;
  readonly fixture: Omit<Fixture, "name">;
  /** The body as text; undefined if it is not text. */
  readonly text: string | undefined;
}

/** Redacts deliveries one at a time and signs them with `secret`. */
export function createRecordedFixture(
  secret: string,
  rules: Place,
): (delivery: CapturedDelivery) => Promise<RecordedFixture> {
  const idOf = createRecordedIds();
  const made = new DistinctPlaceholders();

  return async ({ timestamp, type, contentType, receivedAt, ...delivery }) => {
    const { bytes, text, dropped } = redactBody(delivery.body, rules, made);
    const id = idOf(delivery.id, delivery.outcome);
    const headers = {
      ...(contentType === undefined ? {} : { "Content-Type": contentType }),
      "X-Webhook-Type": type,
      "X-Webhook-Id": id,
      "X-Webhook-Timestamp": String(timestamp),
      "X-Webhook-Signature": await signDelivery({ secret, id, timestamp, body: bytes }),
    };
    // What `expect` refers to: the secret and default options (fixtures/README.md).
    const answer = await answerOf({ headers, body: bytes }, receivedAt.getTime(), { secret });
    const isSame = answer.outcome === delivery.outcome && answer.status === delivery.status;
    const event = isWebhookType(type) ? eventOf(text) : undefined;
    const description = [
      `Recorded ${event ?? type}, answered ${delivery.outcome} ${String(delivery.status)}`,
      ...(dropped === 0 ? [] : [`unknown keys and elements dropped: ${String(dropped)}`]),
      ...(isSame ? [] : [`on its own it is ${answer.outcome}, so nothing is expected`]),
    ].join("; ");
    const expect = isSame ? { expect: answer } : {};
    const fixture = { description, receivedAt, ...expect, headers, body: bytes };
    return { stem: stemOf(type, event), fixture, text };
  };
}

/** `event_type` of an alarm or `type` of an event, if it is documented. */
function eventOf(text: string | undefined): string | undefined {
  const body = Object(jsonOf((text ?? "").replace(/^\uFEFF/, ""))) as Record<string, unknown>;
  const record = Object(body["alarm"] ?? body["event"]) as Record<string, unknown>;
  return documentedEvent(record["event_type"] ?? record["type"]);
}

/** `alarm-email-hacked`, `event-data-deleted`, `unknown-type`. */
function stemOf(type: string, event: string | undefined): string {
  const record = { new_alarm: "alarm", delete_my_data_event: "event" }[type] ?? type;
  return [record, ...(event === undefined ? [] : [event])]
    .map((name) => name.replace(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_/g, "-"))
    .join("-")
    .toLowerCase();
}
