import { isJson } from "../support/is-json.js";
import { hanging, never, overriding, type Flaws } from "./flaw.js";
import { isFields, type Fields } from "./right-receiver.js";

const EVENTS = ["DELETION_REQUEST_SENT", "DATA_DELETED", "DATA_REAPPEARED", "PERSONAL_DATA_FOUND"];
const ISO_TIME = /^\d{4}-\d\d-\d\dT/;
const MAX_INT_32 = 2 ** 31 - 1;
const ALARM_FIELDS =
  "id text account_id severity status source event_type category_id original_event_id payload date checked_at created_at updated_at".split(
    " ",
  );
const EVENT_FIELDS =
  "type severity account_id client_id site_id site_name site_base_url occurred_at".split(" ");

/** Each refuses, drops or does not understand records that the gateway sends. */
export const recordFlaws: readonly Flaws[] = [
  {
    unknown_fields: {
      "refuses an alarm with a new field": refusingAlarms((alarm) => hasOther(alarm, ALARM_FIELDS)),
      "refuses an event with a new field": refusingEvents((event) => hasOther(event, EVENT_FIELDS)),
      "refuses a new key beside the record": typing((parsed) => Object.keys(parsed).length === 1),
      "takes the first key of the body for the record": typing((parsed) =>
        ["alarm", "event"].includes(Object.keys(parsed)[0] ?? ""),
      ),
    },
    unknown_values: {
      "refuses an alarm with a new severity": refusingAlarms(
        ({ severity }) => !["Low", "Medium", "High", "Info"].includes(String(severity)),
      ),
      "refuses an event with a new severity": refusingEvents(
        ({ severity }) => !["SUCCESS", "INFO", "WARNING"].includes(String(severity)),
      ),
      "refuses a new category": refusingAlarms(({ category_id }) => Number(category_id) > 7),
      "refuses a new source": refusingAlarms(({ source }) => source === "BureauX"),
      "drops a new event_type": droppingRecords(({ event_type }) => event_type === "wallet_hacked"),
    },
    alarm_types: {
      "does not know the alarms of bureaus": refusingAlarms(({ source }) => source !== "BreachDb"),
      "drops alarms of severity Info and Low": droppingRecords(
        ({ severity }) => severity === "Info" || severity === "Low",
      ),
    },
    event_types: {
      "does not know every event type": refusingEvents(
        ({ type }) => !EVENTS.includes(String(type)),
      ),
      "needs a site in each event": refusingEvents(({ site_id }) => site_id === null),
    },
    unknown_event_type: {
      "answers 422 to a new event type": refusingEvents(({ type }) => type === "SITE_CLOSED"),
      "acknowledges and drops a new event type": droppingRecords(
        ({ type }) => type === "SITE_CLOSED",
      ),
      "looks handlers up in an object with inherited members": droppingRecords(
        ({ type }) => String(type) in {},
      ),
    },
    unknown_webhook_type: {
      "answers 404 to a new webhook type": overriding({ unknown: () => [404, "unknown"] }),
      "acknowledges and drops a new webhook type": overriding({ unknown: () => [200, "unknown"] }),
    },
    event: {
      "has no handler for events and acknowledges them": overriding({
        check: (_record, { type }) => (type === "new_alarm" ? undefined : [200, "ignored"]),
      }),
    },
  },
  // Dates, numbers and missing fields.
  {
    alarm: {
      "knows only ISO 8601 in alarms": refusingAlarms(
        ({ created_at }) => !ISO_TIME.test(String(created_at)),
      ),
    },
    date_formats: {
      "knows only legacy dates in alarms": refusingAlarms(({ created_at }) =>
        ISO_TIME.test(String(created_at)),
      ),
      "knows only ISO 8601 in events": refusingEvents(
        ({ occurred_at }) => !ISO_TIME.test(String(occurred_at)),
      ),
    },
    legacy_values: {
      "refuses digits as an alarm's id": refusingAlarms(({ id }) => typeof id !== "number"),
      "refuses digits as an event's account_id": refusingEvents(
        ({ account_id }) => typeof account_id !== "number",
      ),
      "refuses a number as client_id": refusingEvents(
        ({ client_id }) => typeof client_id === "number",
      ),
    },
    missing_fields: {
      "refuses an alarm without text": refusingAlarms(({ text }) => text === undefined),
      "refuses an alarm whose text is null": refusingAlarms(({ text }) => text === null),
      "refuses an event without client_id": refusingEvents(
        ({ client_id }) => client_id === undefined,
      ),
      "refuses an event without site fields": refusingEvents((event) => !("site_id" in event)),
      "refuses an alarm without a payload": refusingAlarms(({ payload }) => payload === undefined),
      "refuses an alarm whose account_id is null": refusingAlarms(
        ({ account_id }) => account_id === null,
      ),
      "acknowledges and drops an alarm without an id": droppingRecords(
        (record) => "payload" in record && record["id"] === undefined,
      ),
      "refuses an event without a type": refusingEvents(({ type }) => type === undefined),
      "acknowledges and drops an event whose occurred_at is null": droppingRecords(
        ({ occurred_at }) => occurred_at === null,
      ),
    },
    odd_values: {
      "refuses alarms whose id does not fit 32 bits": refusingAlarms(
        ({ id }) => Number(id) > MAX_INT_32,
      ),
      "refuses accounts beyond 32 bits": refusingAlarms(
        ({ account_id }) => Number(account_id) > MAX_INT_32,
      ),
      "refuses an event of an account beyond 32 bits": refusingEvents(
        ({ account_id }) => Number(account_id) > MAX_INT_32,
      ),
      "refuses a new status": refusingAlarms(
        ({ status }) => !["NEW", "CLOSED"].includes(String(status)),
      ),
      "drops alarms that are not NEW": droppingRecords(
        ({ status }) => status !== undefined && status !== "NEW",
      ),
    },
  },
  // Payloads and odd members.
  {
    odd_payload: {
      "answers 400 to a payload that is cut off": refusingAlarms(({ payload }) => !isJson(payload)),
      "answers 400 to an empty payload": refusingAlarms(({ payload }) => payload === ""),
      "answers 422 to the payload null": refusingAlarms(({ payload }) => payload === "null"),
      "answers 400 to a payload that is an object": refusingAlarms(({ payload }) =>
        isFields(payload),
      ),
      "acknowledges and drops an alarm whose payload is an object": droppingRecords(({ payload }) =>
        isFields(payload),
      ),
      "acknowledges and drops an alarm whose payload it cannot read": droppingRecords(
        ({ payload }) => payload !== undefined && !isJson(payload),
      ),
    },
    odd_members: {
      "refuses __proto__ as a key": filtering(/__proto__/, 400),
      "refuses __proto__ in events": filtering(/"event".*__proto__/, 400),
      "refuses deep nesting": filtering(/\[{4}/, 400),
      "refuses a NUL in a text": filtering(/\\u0000b/, 400),
      "refuses half of a surrogate pair": filtering(/\\ud83d/, 400),
      "refuses big numbers": filtering(/\d{20}/, 400),
      "ends its process when a record is nested deeply": overriding((right) => {
        let hasEnded = false;
        return {
          receive(req, body) {
            hasEnded ||= body.includes("[[[[");
            if (hasEnded) throw new Error("ended");
            return right.receive(req, body);
          },
        };
      }),
    },
  },
  // Texts.
  {
    hostile_text: {
      "refuses markup": filtering(/<script/i),
      "refuses what looks like SQL": filtering(/' OR \d/),
      "refuses paths to a parent folder": filtering(/\.\.\//),
      "refuses what looks like a lookup of Log4j": filtering(/\$\{jndi:/),
      "acknowledges and drops markup in events": filtering(/"event".*<script/, 200),
      "decodes percent signs before it verifies": verifyingText((text) =>
        text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        ),
      ),
      "puts the body into a template before it verifies": verifyingText((text) =>
        "BODY".replace("BODY", text),
      ),
      "decodes HTML before it verifies": verifyingText((text) => text.replaceAll("&amp;", "&")),
    },
    non_ascii: {
      "signs the text as Latin-1": overriding((right) => ({
        mac: (secret, request) =>
          right.mac(secret, { ...request, body: Buffer.from(String(request.body), "latin1") }),
      })),
      "refuses site names beyond ASCII": refusingEvents(({ site_name }) =>
        /[^ -~]/.test(String(site_name)),
      ),
    },
    nested_text: {
      "removes backslashes before it parses": overriding({
        parse: (body) => JSON.parse(String(body).replaceAll("\\\\", "\\")) as unknown,
      }),
    },
    big_alarm: {
      "takes at most 100 kB": overriding((right) => ({
        readBody: (req) => right.readBody(req, 100_000),
      })),
      "takes at most 64 kB of an event": refusingEvents(
        (event) => JSON.stringify(event).length > 65_536,
      ),
    },
  },
  // Bodies that cannot be read.
  {
    unreadable_body: {
      "answers 400 to a body that it cannot read": overriding({
        unreadable: () => [400, "unreadable"],
      }),
      "acknowledges and drops a body that it cannot read": overriding({
        unreadable: () => [200, "unreadable"],
      }),
      "answers 422 to the JSON null": typing((parsed) => (parsed as unknown) !== null),
      "does not answer when a record is null": hanging(
        overriding((right) => ({
          process: (request) =>
            request.body.includes('"alarm":null') ? never() : right.process(request),
        })),
      ),
    },
    invalid_utf8: {
      "answers 400 to bytes that are not UTF-8": overriding({
        unreadable: (error) =>
          error instanceof SyntaxError ? [503, "no JSON"] : [400, "no UTF-8"],
      }),
    },
    byte_order_mark: {
      "answers 400 to a byte order mark": overriding({
        check: (_record, { body }) => (body[0] === 0xef ? [400, "byte order mark"] : undefined),
      }),
    },
  },
];

function refusingAlarms(isRefused: (alarm: Fields) => boolean) {
  return refusingRecords("new_alarm", isRefused);
}

function refusingEvents(isRefused: (event: Fields) => boolean) {
  return refusingRecords("delete_my_data_event", isRefused);
}

/** Answers 422 to records that a strict schema would refuse. */
function refusingRecords(of: string, isRefused: (record: Fields) => boolean) {
  return overriding({
    check: (record, { type }) =>
      type === of && isRefused(record) ? [422, "invalid record"] : undefined,
  });
}

/** Acknowledges records without handling them. */
function droppingRecords(isDropped: (record: Fields) => boolean) {
  return overriding({
    check: (record) => (isDropped(record) ? [200, "dropped"] : undefined),
  });
}

/** Computes the signature of a text that it has changed. */
function verifyingText(change: (text: string) => string) {
  return overriding((right) => ({
    mac: (secret, request) =>
      right.mac(secret, { ...request, body: Buffer.from(change(String(request.body))) }),
  }));
}

/** Answers for a firewall, or for a strict parser, to genuine bodies that match. */
function filtering(pattern: RegExp, status = 403) {
  return overriding({
    check: (_record, { body }) => (pattern.test(String(body)) ? [status, "blocked"] : undefined),
  });
}

/** Takes only some bodies for records. */
function typing(isRecord: (parsed: Fields) => boolean) {
  return overriding((right) => ({
    typeOf: (parsed, request) =>
      isRecord(parsed as Fields) ? right.typeOf(parsed, request) : undefined,
    unknown: () => [422, "unknown"],
  }));
}

function hasOther(record: Fields, fields: readonly string[]): boolean {
  return isFields(record) && Object.keys(record).some((key) => !fields.includes(key));
}
