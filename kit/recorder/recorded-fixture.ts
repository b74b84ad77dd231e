import { createHmac, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { WebhookOutcome } from "../../src/answer/outcome.js";
import { signDelivery } from "../../src/signature/sign-delivery.js";
import { namedHeaders } from "../../src/delivery/header-values.js";
import { isWebhookType } from "../../src/delivery/headers.js";
import { jsonOf } from "../json-parts.js";
import { answerOf } from "../plain-receiver.js";
import { madeUpDeliveryId } from "../random.js";
import type { CapturedDelivery } from "./captured-delivery.js";
import { DistinctPlaceholders } from "./distinct-placeholders.js";
import { redactBody } from "./redact-body.js";
import { documentedEvent } from "./documented-fields.js";
import type { Place } from "./redaction-rules.js";

/** Redacts deliveries one at a time and signs them with `secret`. `stem`: the file's name without number and extension. */
export function createRecordedFixture(secret: string, rules: Place) {
  const idOf = createRecordedIds();
  const made = new DistinctPlaceholders();

  return async ({ timestamp, type, contentType, receivedAt, ...delivery }: CapturedDelivery) => {
    const { bytes, text, dropped } = redactBody(delivery.body, rules, made);
    const id = idOf(delivery.id, delivery.outcome);
    const headers = {
      ...(contentType === undefined ? {} : { "Content-Type": contentType }),
      ...namedHeaders({
        type,
        id,
        timestamp: String(timestamp),
        signature: await signDelivery({ secret, id, timestamp, body: bytes }),
      }),
    };
    // What `expect` refers to: the secret and default options (fixtures/README.md).
    const answer = await answerOf({ headers, body: bytes }, receivedAt.getTime(), { secret });
    const isSame = answer.outcome === delivery.outcome && answer.status === delivery.status;
    const event = isWebhookType(type) ? eventOf(text) : undefined;
    const description = [
      `Recorded ${event ?? type}, answered ${delivery.outcome} ${String(delivery.status)}`,
      ...(dropped === 0 ? [] : [`elements dropped: ${String(dropped)}`]),
      ...(isSame ? [] : [`on its own it is ${answer.outcome}, so nothing is expected`]),
    ].join("; ");
    const expect = isSame ? { expect: answer } : {};
    const fixture = { description, receivedAt, ...expect, headers, body: bytes };
    return { stem: stemOf(type, event), fixture };
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

/** Maximum number of handled ids that are remembered. */
const MAX_HANDLED = 100_000;

/**
 * The X-Webhook-Id of each attempt in its fixture: a made-up one, never the original.
 *
 * A handled delivery and its duplicates share an id, so that a replay in the same order sees duplicates too. All
 * other attempts get their own id, because a replay has other handlers: an attempt that failed would succeed
 * and turn the next attempt, which was handled, into a duplicate.
 *
 * Shared ids are made with a random key of the recorder that is never stored. So no one can tell from an original
 * id which fixture belongs to it.
 */
function createRecordedIds(): (id: string, outcome: WebhookOutcome) => string {
  const key = randomBytes(32);
  const handled = new LRUCache<string, true>({ max: MAX_HANDLED });
  return (id, outcome) => {
    if (outcome !== "handled" && outcome !== "discarded" && outcome !== "duplicate") {
      return madeUpDeliveryId();
    }
    const shared = madeUpDeliveryId(createHmac("sha256", key).update(id).digest());
    if (outcome === "duplicate") return shared;
    // Handled twice: by two receivers, or by a receiver whose store forgot the id.
    if (handled.has(shared)) return madeUpDeliveryId();
    handled.set(shared, true);
    return shared;
  };
}
