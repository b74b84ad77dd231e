import type { WebhookType } from "../../src/delivery/headers.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { headerOf, SIGNATURE, textOf, withHeader } from "./request-changes.js";
import { FINAL_STATUSES_WHY, LENIENT_FIX, recordsWith, type ChangedRecord } from "./rule-kinds.js";
import { each, freshSeed, type Delivery, type MakeDelivery } from "./test-deliveries.js";

const IGNORE_TYPE = "Ignore the content type: the signature proves what the body is.";

const JSON_AND_TEXT_TYPES = [
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  "APPLICATION/JSON",
  "application/json; charset=latin1",
  "application/vnd.api+json",
  "text/plain",
  "application/octet-stream",
  "",
];

/** Some servers parse these before the app sees the request, and refuse what is no form. */
const FORM_TYPES = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ";;;"];

/** A genuine delivery with content that the receiver may not know must be handled or sent again. */
export const unknownContentRules: ConformanceRules = {
  content_types: {
    level: "should",
    title:
      "a genuine delivery with any content type of JSON, text or bytes is handled or sent again",
    why: `${FINAL_STATUSES_WHY}, and its contract does not mention 415. The gateway sends application/json, so only a proxy that rewrites the header can cause this. It would cost every alarm.`,
    fix: IGNORE_TYPE,
    acceptOrRetry: async ({ deliver }) => [
      ["a delivery without Content-Type", withHeader(await deliver(), "Content-Type")],
      ...(await ofContentTypes(deliver, JSON_AND_TEXT_TYPES)),
    ],
  },
  form_content_types: {
    level: "should",
    title: "a genuine delivery with the content type of a form is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. The gateway sends application/json, so only a proxy can cause this.`,
    fix: `${IGNORE_TYPE} Switch off the parsing of forms for this path.`,
    acceptOrRetry: ({ deliver }) => ofContentTypes(deliver, FORM_TYPES),
  },
  upper_case_signature: {
    title: "a genuine signature in upper-case hexadecimal is accepted or sent again",
    why: `${FINAL_STATUSES_WHY}. Upper-case digits mean the same bytes.`,
    fix: "Decode the digits and compare bytes, or answer 409.",
    acceptOrRetry: async ({ deliver }) => {
      const delivery = await deliver();
      const digits = headerOf(delivery, SIGNATURE).slice("v1=".length).toUpperCase();
      return [["upper case", withHeader(delivery, SIGNATURE, `v1=${digits}`)]];
    },
  },
  byte_order_mark: {
    title: "a genuine body with a byte order mark is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Some libraries write a byte order mark before JSON, which would cost every alarm.`,
    fix: LENIENT_FIX,
    acceptOrRetry: async ({ deliver }) => [
      ["a byte order mark", await deliver({ body: `\uFEFF${textOf(await deliver())}` })],
    ],
  },
  legacy_values: {
    title: "a record with numbers as text or text as numbers is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Legacy formats vary (Versioning, rule 3), and a strict schema would answer 422.`,
    fix: LENIENT_FIX,
    acceptOrRetry: (context) => {
      const { id, account_id } = sampleAlarm();
      const account = String(account_id);
      return recordsWith(context, [
        ["new_alarm", "digits instead of integers", { id: String(id), account_id: account }],
        ["new_alarm", "a number instead of a string", { original_event_id: freshSeed() }],
        ["delete_my_data_event", "digits in an event", { account_id: account, site_id: "7" }],
        ["delete_my_data_event", "a number as client_id", { client_id: freshSeed() }],
      ]);
    },
  },
  missing_fields: {
    title: "a record without a documented field is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. A schema that answers 400 or 422 loses the alarm, and no one notices.`,
    fix: LENIENT_FIX,
    acceptOrRetry: (context) =>
      recordsWith(context, [
        ...withoutEach("new_alarm", sampleAlarm()),
        ...withoutEach("delete_my_data_event", sampleOnlineDataEvent("DATA_REAPPEARED")),
        ["delete_my_data_event", "no site fields", { site_id: undefined, site_name: undefined }],
      ]),
  },
  unknown_event_type: {
    title: "an event of a new type is handled or sent again",
    needs: ["delete_my_data_event"],
    why: `${FINAL_STATUSES_WHY}. The gateway may add event types, and an event that is answered 404 or 422 is lost.`,
    fix: LENIENT_FIX,
    acceptOrRetry: (context) =>
      recordsWith(context, [
        ["delete_my_data_event", "a new event.type", { type: "SITE_CLOSED" }],
        ["delete_my_data_event", "the event.type constructor", { type: "constructor" }],
      ]),
  },
  unknown_webhook_type: {
    title: "a delivery of an unknown webhook type is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Deliveries of a type that the gateway adds are lost until the receiver knows it.`,
    fix: LENIENT_FIX,
    acceptOrRetry: async ({ deliver }) => [
      [
        "a new type",
        await deliver({ type: "account_closed", body: `{"account":{"id":${freshSeed()}}}` }),
      ],
    ],
  },
  unreadable_body: {
    title: "a genuine body that cannot be read is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it: a fault of the gateway must not lose the alarm.`,
    fix: "Answer 503 and alert someone: the gateway sends it again while the fault is looked for.",
    acceptOrRetry: async ({ deliver }) => [
      ["half of the JSON", await deliver({ body: '{"alarm":' })],
      ["a JSON array", await deliver({ body: "[]" })],
      ["the JSON null", await deliver({ body: "null" })],
      ["an alarm that is null", await deliver({ body: '{"alarm":null,"event":null}' })],
      ["an empty body", await deliver({ body: "" })],
    ],
  },
  invalid_utf8: {
    title: "a genuine body that is not UTF-8 is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it.`,
    fix: "Verify the bytes before you decode them, and answer 503 if decoding fails.",
    acceptOrRetry: async ({ deliver }) => {
      const text = textOf(await deliver());
      const bytes = Uint8Array.from(text, (char, at) =>
        at === text.length - 3 ? 0xff : char.charCodeAt(0),
      );
      return [["a byte that is never UTF-8", await deliver({ body: bytes })]];
    },
  },
};

/** A record without each of its fields, and with null instead. */
function withoutEach(type: WebhookType, record: object): readonly ChangedRecord[] {
  return Object.keys(record).flatMap((field): readonly ChangedRecord[] => [
    [type, `no ${field} (${type})`, { [field]: undefined }],
    [type, `null instead of ${field} (${type})`, { [field]: null }],
  ]);
}

function ofContentTypes(deliver: MakeDelivery, types: readonly string[]) {
  return each(types, async (type): Promise<readonly [string, Delivery]> => {
    return [`"${type}"`, withHeader(await deliver(), "Content-Type", type)];
  });
}
