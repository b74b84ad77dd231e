import { ALARM, EVENT } from "../../src/common/gateway-facts.js";
import { isOnlineDataEventType } from "../../src/records/online-data-event.js";
import { isJson } from "../support/is-json.js";
import { convicts, inJavaScript } from "./convicts.js";
import {
  each,
  giving,
  hanging,
  has,
  never,
  overriding,
  replacing,
  withGrammar,
  type Flaws,
} from "./flaw.js";
import { isFields, textOf, type Fields, type Request } from "./right-receiver.js";

const EVENTS = ["DELETION_REQUEST_SENT", "DATA_DELETED", "DATA_REAPPEARED", "PERSONAL_DATA_FOUND"];
const ISO_TIME = /^\d{4}-\d\d-\d\dT/;
const MAX_INT_32 = 2 ** 31 - 1;
const ALARM_FIELDS = Object.keys(ALARM);
const EVENT_FIELDS = Object.keys(EVENT);

type Picks = (record: Fields, request: Request) => boolean;

const ofType =
  (type: string) =>
  (isPicked: Picks): Picks =>
  (record, request) =>
    request.type === type && isPicked(record, request);
const ofAlarms = ofType("new_alarm");
const ofEvents = ofType("delete_my_data_event");
/** Whether a field is a text that matches. */
const field =
  (name: string, pattern: RegExp): Picks =>
  (record) =>
    pattern.test(textOf(record[name]));
/** Whether the body matches. */
const bodyLike =
  (pattern: RegExp): Picks =>
  (_record, { body }) =>
    pattern.test(String(body));

const isNoJson: Picks = ({ payload }) => payload !== undefined && !isJson(payload);
const payloadOf = ({ payload }: Fields): unknown =>
  isJson(payload) ? JSON.parse(String(payload)) : undefined;
const isUnknownEvent: Picks = ({ type }) =>
  type !== undefined && !isOnlineDataEventType(textOf(type));
const isInFuture: Picks = ({ created_at }) =>
  Date.parse(`${textOf(created_at).replace(" ", "T")}Z`) > Date.now() + 60_000;

/** Each refuses, drops or does not understand records that the gateway sends. */
const recordFlaws: Flaws = {
  unknown_fields: {
    ...each("refuses", giving(422), {
      "an alarm with a new field": ofAlarms((alarm) => hasOther(alarm, ALARM_FIELDS)),
      "an event with a new field": ofEvents((event) => hasOther(event, EVENT_FIELDS)),
    }),
    "refuses a new key beside the record": typing((parsed) => Object.keys(parsed).length === 1),
  },
  unknown_values: {
    ...each("refuses", giving(422), {
      "an alarm with a new severity": ofAlarms(
        ({ severity }) => !["Low", "Medium", "High", "Info"].includes(String(severity)),
      ),
      "an event with a new severity": ofEvents(
        ({ severity }) => !["SUCCESS", "INFO", "WARNING"].includes(String(severity)),
      ),
      "a new category": ofAlarms(({ category_id }) => Number(category_id) > 7),
      "a new source": ofAlarms(({ source }) => String(source).startsWith("BureauX")),
    }),
    "drops a new event_type": giving(200)(field("event_type", /^wallet_hacked$/)),
  },
  alarm_types: {
    "does not know the alarms of bureaus": giving(422)(
      ofAlarms(({ source }) => source !== "BreachDb"),
    ),
    "drops alarms of severity Info and Low": giving(200)(field("severity", /^(?:Info|Low)$/)),
  },
  event_types: {
    "does not know every event type": giving(422)(
      ofEvents(({ type }) => !EVENTS.includes(String(type))),
    ),
    "needs a site in each event": giving(422)(ofEvents(({ site_id }) => site_id === null)),
  },
  unknown_event_type: {
    "answers 422 to a new event type": giving(422)(ofEvents(({ type }) => type === "SITE_CLOSED")),
    "drops a new event type": giving(200)(field("type", /^SITE_CLOSED$/)),
    "looks handlers up among inherited members": giving(200)(({ type }) => String(type) in {}),
    "looks an event's name up after its work": throwingAfter(isUnknownEvent),
    "remembers an event, and then finds no handler": throwingBefore(field("type", /^SITE_CLOSED$/)),
  },
  unknown_webhook_type: {
    "answers 404 to a new webhook type": overriding({ unknown: () => [404, "unknown"] }),
    "drops a new webhook type": overriding({ unknown: () => [200, "unknown"] }),
    "looks for a handler in the prototype": overriding({
      unknown: ({ type }) => (type in {} ? [200, "no handler"] : [503, "unknown"]),
    }),
  },
  event: {
    "acknowledges events without a handler": giving(200)(
      (_record, { type }) => type !== "new_alarm",
    ),
  },
  alarm: {
    "knows only ISO 8601 in alarms": giving(422)(
      ofAlarms(({ created_at }) => !ISO_TIME.test(String(created_at))),
    ),
  },
  date_formats: each("knows only", giving(422), {
    "legacy dates in alarms": ofAlarms(field("created_at", ISO_TIME)),
    "ISO 8601 in events": ofEvents(({ occurred_at }) => !ISO_TIME.test(String(occurred_at))),
  }),
  legacy_values: {
    ...each("refuses", giving(422), {
      "digits as an alarm's id": ofAlarms(({ id }) => typeof id !== "number"),
      "digits as an event's account_id": ofEvents(
        ({ account_id }) => typeof account_id !== "number",
      ),
      "a number as client_id": ofEvents(({ client_id }) => typeof client_id === "number"),
    }),
    ...each("after its work writes", throwingAfter, {
      "the id of an alarm as a number": ({ id }) => typeof id === "string",
      "a client_id in lower case": ({ client_id }) => typeof client_id === "number",
    }),
  },
  missing_fields: {
    ...each("refuses an alarm", giving(422), {
      "without text": ofAlarms(({ text }) => text === undefined),
      "whose text is null": ofAlarms(({ text }) => text === null),
      "without a payload": ofAlarms(({ payload }) => payload === undefined),
      "whose account_id is null": ofAlarms(({ account_id }) => account_id === null),
    }),
    ...each("refuses an event", giving(422), {
      "without client_id": ofEvents(({ client_id }) => client_id === undefined),
      "without site fields": ofEvents((event) => !("site_id" in event)),
      "without a type": ofEvents(({ type }) => type === undefined),
    }),
    ...each("drops", giving(200), {
      "an alarm without an id": (record) => "payload" in record && record["id"] === undefined,
      "an event whose occurred_at is null": ({ occurred_at }) => occurred_at === null,
    }),
    ...each("after its work writes", throwingAfter, {
      "the text of an alarm into a log": lacking("payload", "text"),
      "the length of a client_id into a log": lacking("occurred_at", "client_id"),
      "the day of an alarm into a log": lacking("payload", "created_at"),
    }),
    "counts severities after its work": throwingAfter(lacking("account_id", "severity")),
  },
  odd_values: {
    ...each("refuses", giving(422), {
      "alarms whose id does not fit 32 bits": ofAlarms(({ id }) => Number(id) > MAX_INT_32),
      "accounts beyond 32 bits": ofAlarms(({ account_id }) => Number(account_id) > MAX_INT_32),
      "an event of an account beyond 32 bits": ofEvents(
        ({ account_id }) => Number(account_id) > MAX_INT_32,
      ),
      "a new status": ofAlarms(({ status }) => !["NEW", "CLOSED"].includes(String(status))),
    }),
    "drops alarms that are not NEW": giving(200)(
      ({ status }) => status !== undefined && status !== "NEW",
    ),
    "writes an id into 32 bits after its work": throwingAfter(({ id }) => Number(id) >= 2 ** 31),
    "looks a status up after its work": throwingAfter(field("status", /^SNOOZED$/)),
  },
  odd_payload: {
    ...each("answers 400 to", giving(400), {
      "a payload that is cut off": ofAlarms(({ payload }) => !isJson(payload)),
      "an empty payload": ofAlarms(({ payload }) => payload === ""),
      "a payload that is an object": ofAlarms(({ payload }) => isFields(payload)),
    }),
    "answers 422 to the payload null": giving(422)(ofAlarms(({ payload }) => payload === "null")),
    ...each("drops an alarm", giving(200), {
      "whose payload is an object": ({ payload }) => isFields(payload),
      "whose payload it cannot read": isNoJson,
    }),
    "parses the payload after its work": throwingAfter(isNoJson),
    "lists the payload's keys after its work": throwingAfter(field("payload", /^null$/)),
    "remembers an alarm, and then parses its payload": throwingBefore(isNoJson),
  },
  odd_members: {
    ...each("refuses", giving(400), {
      "__proto__ as a key": bodyLike(/__proto__/),
      "__proto__ in events": bodyLike(/"event".*__proto__/),
      "deep nesting": bodyLike(/\[{4}/),
      "a NUL in a text": bodyLike(/\\u0000b/),
      "half of a surrogate pair": bodyLike(/\\ud83d/),
      "big numbers": bodyLike(/\d{20}/),
    }),
    "ends its process at a deeply nested record": overriding((right) => {
      let hasEnded = false;
      return {
        receive(req, body) {
          hasEnded ||= body.includes("[[[[");
          if (hasEnded) throw new Error("ended");
          return right.receive(req, body);
        },
      };
    }),
    "logs a text with a NUL after its work": throwingAfter(field("note", /\0/)),
    "copies each member after its work": throwingAfter(({ nested }) => nested !== undefined),
  },
  hostile_text: {
    ...each("refuses", giving(403), {
      markup: bodyLike(/<script/i),
      "what looks like SQL": bodyLike(/' OR \d/),
      "paths to a parent folder": bodyLike(/\.\.\//),
      "what looks like a lookup of Log4j": bodyLike(/\$\{jndi:/),
    }),
    "drops markup in events": giving(200)(bodyLike(/"event".*<script/)),
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
    "signs the text as Latin-1": replacing("mac", (right, secret, request) =>
      right.mac(secret, { ...request, body: Buffer.from(String(request.body), "latin1") }),
    ),
    ...each("refuses", giving(400), {
      "no-break spaces": field("text", /\u00a0/),
      "characters without width": field("site_name", /\u200b/),
      "letters that are written from right to left": field("text", /[\u0590-\u06ff]/),
    }),
    "refuses site names beyond ASCII": giving(422)(ofEvents(field("site_name", /[^ -~]/))),
  },
  nested_text: {
    "removes backslashes before it parses": overriding({
      parse: (body) => JSON.parse(String(body).replaceAll("\\\\", "\\")) as unknown,
    }),
  },
  big_alarm: {
    "takes at most 100 kB": replacing("readBody", (right, req) => right.readBody(req, 100_000)),
    "takes at most 64 kB of an event": giving(422)(
      ofEvents((event) => JSON.stringify(event).length > 65_536),
    ),
  },
  unreadable_body: {
    "answers 400 to an unreadable body": overriding({
      unreadable: () => [400, "unreadable"],
    }),
    "drops a body that it cannot read": overriding({
      unreadable: () => [200, "unreadable"],
    }),
    "answers 422 to an unknown record": overriding({ unknown: () => [422, "no record"] }),
    "answers 422 to the JSON null": typing((parsed) => (parsed as unknown) !== null),
    "does not answer when a record is null": hanging(
      replacing("process", (right, request) =>
        request.body.includes('"alarm":null') ? never() : right.process(request),
      ),
    ),
  },
  invalid_utf8: {
    "answers 400 to bytes that are not UTF-8": overriding({
      unreadable: (error) => (error instanceof SyntaxError ? [503, "no JSON"] : [400, "no UTF-8"]),
    }),
  },
  byte_order_mark: {
    "answers 400 to a byte order mark": giving(400)((_record, { body }) => body[0] === 0xef),
  },
  content_types: {
    "logs the content type after its work": throwingAfter(
      (_record, { req }) => !has("content-type")(req),
    ),
  },
};

/** Each gives up, drops or never takes values that the gateway's document allows. */
const rareFlaws: Flaws = {
  rare_values: {
    ...each("answers 422 to", giving(422), {
      "an empty text": ({ text }) => text === "",
      "a text over 1 000 characters": field("text", /^.{1001,9999}$/s),
      "a creation in the future": isInFuture,
      "a date before 2020": field("date", /^[01]|^20[01]/),
      "a fraction of a second": field("occurred_at", /\./),
      microseconds: field("occurred_at", /\.\d{6}/),
      "an event before the webhook": field("occurred_at", /^[01]|^20[01]/),
      "an original_event_id over 64 characters": field("original_event_id", /^.{65}/s),
      "an original_event_id beyond letters and digits": field("original_event_id", /[^\w.-]/),
      "a client_id over 64 characters": field("client_id", /^.{65}/s),
      "an array as payload": (record) => Array.isArray(payloadOf(record)),
      "a text as payload": (record) => typeof payloadOf(record) === "string",
      "a site_base_url with a path": field("site_base_url", /\w\/\w/),
      "a site_base_url without a scheme": field("site_base_url", /^(?!https?:)/),
      "a site_base_url beyond ASCII": field("site_base_url", /[^ -~]/),
      "a site_base_url without TLS": field("site_base_url", /^http:/),
      "a severity that a bureau seldom has": ({ source, severity }) =>
        source === "BureauCreditAEnquiry" && severity !== "Info",
    }),
    ...each("answers 400 to", giving(400), {
      "newlines in a text": field("text", /\n/),
      "an offset west of UTC": field("occurred_at", /-\d\d:\d\d$/),
      "an offset of half an hour": field("occurred_at", /:30$/),
      "a payload over 8 kB": field("payload", /^.{8193}/s),
    }),
    "answers 404 to a client_id with blanks": giving(404)(field("client_id", /^\w+ /)),
    ...each("drops", giving(200), {
      "an alarm whose id is falsy": (record) => "payload" in record && !record["id"],
      "an event whose site_id is 0": ({ site_id }) => site_id === 0,
      "an alarm whose text begins with test": field("text", /^test\b/i),
      "an alarm without text": ({ text }) => text === "" || text === "0",
      "a client_id that is falsy in PHP": ({ client_id }) => client_id === "0",
      "events of 2019 as old news": field("occurred_at", /^2019/),
      "an alarm without a breach in its payload": (record) => {
        const payload = payloadOf(record);
        return isFields(payload) && Object.keys(payload).length === 0;
      },
    }),
    ...each("after its work writes", throwingAfter, {
      "the first letter of a text into a log": ({ text }) => text === "",
      "an event's hour into a log": field("occurred_at", /-05:00/),
      "the name of a breach into a log": (record) =>
        isJson(record["payload"]) && !isFields(payloadOf(record)),
      "the path of a site into a log": field("site_base_url", /\?/),
    }),
    "remembers an alarm, and then cannot write its long id": throwingBefore(
      field("original_event_id", /^.{101}/s),
    ),
  },
  // Answers 500 each time.
  rare_values_acknowledged: {
    ...each("keeps", giving(500), {
      "an original_event_id in 100 characters": field("original_event_id", /^.{101}/s),
      "a client_id in 64 characters": field("client_id", /^.{65}/s),
      "a text in 1 000 characters": field("text", /^.{1001,9999}$/s),
      "a payload in 8 kB": field("payload", /^.{8193}/s),
    }),
    ...each("reads", giving(500), {
      "the first letter of each text": ({ text }) => text === "",
      "times with whole seconds alone": field("occurred_at", /\./),
      "times in the zone of its users": field("date", /^2026-03-29 02/),
    }),
    "looks a breach up in a payload that is null": giving(500)(field("payload", /^null$/)),
    "knows ids in lower case alone": withGrammar({ id: /^[0-9a-f-]+$/ }),
    "checks that no time is in the future": giving(500)(isInFuture),
    "divides by the site_id": giving(500)(({ site_id }) => site_id === 0),
    "puts a site_name into a header": giving(500)(field("site_name", /\n/)),
    "collapses blanks before it verifies": verifyingText((text) => text.replace(/ {2,}/g, " ")),
    "puts off leap days": giving(503)(field("occurred_at", /-02-29/)),
  },
};

convicts("JavaScript", inJavaScript, recordFlaws, rareFlaws);

/** Computes the signature of a text that it has changed. */
function verifyingText(change: (text: string) => string) {
  return replacing("mac", (right, secret, request) =>
    right.mac(secret, { ...request, body: Buffer.from(change(String(request.body))) }),
  );
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

/** Whether a record of the kind that has a field lacks the text of another. */
function lacking(kind: string, lacks: string): Picks {
  return (record) => kind in record && typeof record[lacks] !== "string";
}

/** Does its work, and then fails in a line that does not matter. */
function throwingAfter(isPicked: Picks) {
  return overriding((right) => ({
    overlap: () => Promise.resolve(),
    async handle(request, record) {
      await right.handle(request, record);
      if (isPicked(record, request)) throw new TypeError("undefined is not a function");
    },
  }));
}

/** Remembers the id first, and then fails before its work. */
function throwingBefore(isPicked: Picks) {
  return overriding((right) => ({
    overlap: () => Promise.resolve(),
    async handle(request, record) {
      if (isPicked(record, request)) {
        right.handled.add(request.id);
        throw new TypeError("undefined is not a function");
      }
      await right.handle(request, record);
    },
  }));
}
