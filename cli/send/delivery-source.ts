import {
  ONLINE_DATA_EVENT_TYPES,
  type OnlineDataEventType,
} from "../../src/records/online-data-event.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { webhookTypeOf } from "../../kit/fixtures/replay-report.js";
import { jsonOf } from "../../kit/json-parts.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import type { CommandIo } from "../terminal/command-io.js";
import { text, whole, type OptionSpecs, type Values } from "../options/option-specs.js";
import { ACCOUNT_OPTION, accountIdsOf } from "../options/shared-options.js";
import { readInput } from "../options/read-input.js";
import { UsageError } from "../exit.js";

/** The options that select the delivery. */
export const DELIVERY_OPTIONS = {
  type: text("<type>", "X-Webhook-Type. By default it follows from the body:", WEBHOOK_TYPES),
  "event-type": text(
    "<event_type>",
    "Sends a made-up alarm of that event_type. Default email_hacked. One of",
    ALARM_EVENT_TYPES,
  ),
  event: text("<TYPE>", "Sends a made-up Online Data event of that type:", ONLINE_DATA_EVENT_TYPES),
  format: text("<format>", "How the dates of a made-up record are written:", [
    "legacy",
    "standardized",
  ]),
  seed: whole(
    "<n>",
    { min: 0, max: 4_294_967_295 },
    "The same seed gives the same record, with the same id. Default: a new id.",
  ),
  "account-id": ACCOUNT_OPTION,
  fixture: text(
    "<file>",
    "Sends the body of a recorded fixture, signed again, with a new id and the current time.",
  ),
  body: text("<file>", "Sends the exact bytes of a file; - is standard input."),
} as const satisfies OptionSpecs;

/** The type and body of a delivery. */
export interface Content {
  /** X-Webhook-Type. */
  readonly type: string;
  readonly body: Uint8Array;
}

/** Makes or reads the content of the delivery. Throws `UsageError` for options that exclude each other. */
export async function readContent(
  io: CommandIo,
  values: Values<typeof DELIVERY_OPTIONS>,
): Promise<Content> {
  const sources = (["fixture", "body", "event", "event-type"] as const).filter(
    (name) => values[name] !== undefined,
  );
  if (sources.length > 1) {
    throw new UsageError(`--${sources.join(" and --")} exclude each other: pass one of them`);
  }
  const { fixture, body, type } = values;
  const isMadeUp = fixture === undefined && body === undefined;
  const made = (["format", "seed", "account-id"] as const).find(
    (name) => [values[name]].flat()[0] !== undefined,
  );
  if (!isMadeUp && made !== undefined) {
    throw new UsageError(
      `--${made} is for made-up records: leave it out with --fixture and --body`,
    );
  }
  if (fixture !== undefined) return readFixture(fixture, type);
  if (body === undefined) return makeRecord(values);
  const bytes = await readInput(io, body);
  return { type: typeOf(bytes, type), body: bytes };
}

async function readFixture(path: string, type: string | undefined): Promise<Content> {
  const [fixture, ...more] = await loadFixtures(path);
  if (fixture === undefined || more.length > 0) {
    throw new UsageError("--fixture takes one file; replay sends many");
  }
  return { type: typeOf(fixture.body, type ?? webhookTypeOf(fixture)), body: fixture.body };
}

/** The given type, or the type that the body's key implies. */
function typeOf(body: Uint8Array, given: string | undefined): string {
  if (given !== undefined) return given;
  // Not JSON: any bytes can be sent with an explicit --type, see below.
  const record = Object(jsonOf(new TextDecoder().decode(body))) as object;
  if ("alarm" in record) return "new_alarm";
  if ("event" in record) return "delete_my_data_event";
  throw new UsageError("the body contains neither an alarm nor an event: pass its --type");
}

function makeRecord(values: Values<typeof DELIVERY_OPTIONS>): Content {
  const { event, type, seed, "event-type": eventType } = values;
  const accountIds = accountIdsOf(values["account-id"]);
  const format = values.format as "legacy" | "standardized" | undefined;
  const options = { seed, format, accountIds };
  const isEvent =
    event !== undefined || (type === "delete_my_data_event" && eventType === undefined);
  const kind = (event ?? "DATA_REAPPEARED") as OnlineDataEventType;
  const record = isEvent
    ? { event: sampleOnlineDataEvent(kind, {}, options) }
    : { alarm: sampleAlarm({ event_type: eventType ?? "email_hacked" }, options) };
  return {
    type: type ?? (isEvent ? "delete_my_data_event" : "new_alarm"),
    body: new TextEncoder().encode(JSON.stringify(record)),
  };
}
