import type { ConformanceRule } from "./conformance-rule.js";
import { headerOf, SIGNATURE, textOf, withHeader } from "./request-changes.js";
import { acceptOrRetryRule, FINAL_STATUSES_WHY } from "./rule-kinds.js";
import { freshSeed, sampleText } from "./test-deliveries.js";

const LENIENT =
  "Accept it, or answer 409 or 503 until you can: the gateway sends it again for up to 36 hours.";

const CONTENT_TYPES = [
  "application/json; charset=utf-8",
  "application/json; charset=latin1",
  "application/vnd.api+json",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/octet-stream",
  ";;;",
  "",
];

/** A genuine delivery with content that the receiver may not know must be handled or sent again. */
export const unknownContentRules: readonly ConformanceRule[] = [
  acceptOrRetryRule(
    {
      id: "content_types",
      title: "a genuine delivery with any content type is handled or sent again",
      why: `${FINAL_STATUSES_WHY}, and its contract does not mention 415. A proxy that rewrites the header would cost every alarm.`,
      fix: "Ignore the content type: the signature proves what the body is.",
    },
    async (deliver) => [
      ["no content type", withHeader(await deliver(), "Content-Type")],
      ...(await Promise.all(
        CONTENT_TYPES.map(
          async (type) => [`"${type}"`, withHeader(await deliver(), "Content-Type", type)] as const,
        ),
      )),
    ],
  ),
  acceptOrRetryRule(
    {
      id: "upper_case_signature",
      title: "a genuine signature in upper-case hexadecimal is accepted or sent again",
      why: `${FINAL_STATUSES_WHY}. Upper-case digits mean the same bytes.`,
      fix: "Decode the digits and compare bytes, or answer 409.",
    },
    async (deliver) => {
      const delivery = await deliver();
      const digits = headerOf(delivery, SIGNATURE).slice("v1=".length).toUpperCase();
      return [["upper case", withHeader(delivery, SIGNATURE, `v1=${digits}`)]];
    },
  ),
  acceptOrRetryRule(
    {
      id: "byte_order_mark",
      title: "a genuine body with a byte order mark is handled or sent again",
      why: `${FINAL_STATUSES_WHY}. Some libraries write a byte order mark before JSON, which would cost every alarm.`,
      fix: LENIENT,
    },
    async (deliver) => [
      ["a byte order mark", await deliver({ body: `\uFEFF${textOf(await deliver())}` })],
    ],
  ),
  acceptOrRetryRule(
    {
      id: "legacy_values",
      title: "an alarm with numbers as text or text as numbers is handled or sent again",
      needs: ["new_alarm"],
      why: `${FINAL_STATUSES_WHY}. Legacy formats vary (Versioning, rule 3), and a strict schema would answer 422.`,
      fix: LENIENT,
    },
    async (deliver) => [
      [
        "digits instead of integers",
        await deliver({
          body: sampleText("new_alarm", { id: String(freshSeed()), account_id: "42" }),
        }),
      ],
      [
        "a number instead of a string",
        await deliver({ body: sampleText("new_alarm", { original_event_id: freshSeed() }) }),
      ],
    ],
  ),
  acceptOrRetryRule(
    {
      id: "missing_fields",
      title: "an alarm without a documented field is handled or sent again",
      needs: ["new_alarm"],
      why: `${FINAL_STATUSES_WHY}. A schema that answers 400 or 422 loses the alarm, and no one notices.`,
      fix: LENIENT,
    },
    async (deliver) => [
      ["no text", await deliver({ body: sampleText("new_alarm", { text: undefined }) })],
      ["null instead of text", await deliver({ body: sampleText("new_alarm", { text: null }) })],
    ],
  ),
  acceptOrRetryRule(
    {
      id: "unknown_event_type",
      title: "an event of a new type is handled or sent again",
      needs: ["delete_my_data_event"],
      why: `${FINAL_STATUSES_WHY}. The gateway may add event types, and an event that is answered 404 or 422 is lost.`,
      fix: LENIENT,
    },
    async (deliver) => {
      const body = sampleText("delete_my_data_event", { type: "SITE_CLOSED" });
      return [["a new event.type", await deliver({ type: "delete_my_data_event", body })]];
    },
  ),
  acceptOrRetryRule(
    {
      id: "unknown_webhook_type",
      title: "a delivery of an unknown webhook type is handled or sent again",
      why: `${FINAL_STATUSES_WHY}. Deliveries of a type that the gateway adds are lost until the receiver knows it.`,
      fix: LENIENT,
    },
    async (deliver) => [
      [
        "a new type",
        await deliver({ type: "account_closed", body: `{"account":{"id":${freshSeed()}}}` }),
      ],
    ],
  ),
  acceptOrRetryRule(
    {
      id: "unreadable_body",
      title: "a genuine body that cannot be read is handled or sent again",
      why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it: a fault of the gateway must not lose the alarm.`,
      fix: "Answer 503 and alert someone: the gateway sends it again while the fault is looked for.",
    },
    async (deliver) => [
      ["half of the JSON", await deliver({ body: '{"alarm":' })],
      ["a JSON array", await deliver({ body: "[]" })],
      ["an empty body", await deliver({ body: "" })],
    ],
  ),
  acceptOrRetryRule(
    {
      id: "invalid_utf8",
      title: "a genuine body that is not UTF-8 is handled or sent again",
      why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it.`,
      fix: "Verify the bytes before you decode them, and answer 503 if decoding fails.",
    },
    async (deliver) => {
      const text = textOf(await deliver());
      const bytes = Uint8Array.from(text, (char, at) =>
        at === text.length - 3 ? 0xff : char.charCodeAt(0),
      );
      return [["a byte that is never UTF-8", await deliver({ body: bytes })]];
    },
  ),
];
