import type { ConformanceRule } from "./conformance-rule.js";
import { freshSeed, sampleText, type Deliver, type Delivery } from "./deliveries.js";
import { expectKeptOrSentAgain, type Named } from "./expectations.js";
import { FINAL } from "./giving-up-rules.js";
import { headerOf, SIGNATURE, textOf, withHeader } from "./request-changes.js";

const LENIENT =
  "Take it, or answer 409 or 503 until you can: the gateway sends it again for up to 36 hours.";

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

/** Genuine beyond doubt, but in a form that a receiver may not know. */
function keptOrSentAgain(
  rule: Omit<ConformanceRule, "judge" | "level">,
  deliveries: (deliver: Deliver) => Promise<readonly Named<Delivery>[]>,
): ConformanceRule {
  const judge: ConformanceRule["judge"] = async (trial) =>
    expectKeptOrSentAgain(trial, await deliveries(trial.deliver));
  return { level: "must", ...rule, judge };
}

/** Genuine deliveries that a receiver may not know: kept or sent again, but never given up. */
export const unfamiliarRules: readonly ConformanceRule[] = [
  keptOrSentAgain(
    {
      id: "content_types",
      title: "the content type of a genuine delivery is no reason to give it up",
      why: `${FINAL}, and 415 is not in its contract. A proxy that rewrites the header would cost every alarm.`,
      mend: "Do not look at the content type: the signature says what it is.",
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
  keptOrSentAgain(
    {
      id: "upper_case_signature",
      title: "a genuine signature in upper-case hexadecimal is not given up",
      why: `${FINAL}, and the digits stand for the same bytes.`,
      mend: "Compare the bytes that the digits stand for, or answer 409.",
    },
    async (deliver) => {
      const delivery = await deliver();
      const digits = headerOf(delivery, SIGNATURE).slice("v1=".length).toUpperCase();
      return [["upper case", withHeader(delivery, SIGNATURE, `v1=${digits}`)]];
    },
  ),
  keptOrSentAgain(
    {
      id: "byte_order_mark",
      title: "a genuine body behind a byte order mark is not given up",
      why: `${FINAL}: a mark that some library writes in front of JSON would cost every alarm.`,
      mend: LENIENT,
    },
    async (deliver) => [
      ["a byte order mark", await deliver({ body: `\uFEFF${textOf(await deliver())}` })],
    ],
  ),
  keptOrSentAgain(
    {
      id: "legacy_values",
      title: "numbers as text and text as numbers are not given up",
      needs: ["new_alarm"],
      why: `${FINAL}. Legacy formats vary (Versioning, rule 3), and a strict schema answers 422.`,
      mend: LENIENT,
    },
    async (deliver) => [
      [
        "digits for integers",
        await deliver({
          body: sampleText("new_alarm", { id: String(freshSeed()), account_id: "42" }),
        }),
      ],
      [
        "a number for a string",
        await deliver({ body: sampleText("new_alarm", { original_event_id: freshSeed() }) }),
      ],
    ],
  ),
  keptOrSentAgain(
    {
      id: "missing_fields",
      title: "a genuine alarm that lacks a documented field is not given up",
      needs: ["new_alarm"],
      why: `${FINAL}. A schema that refuses with 400 or 422 loses the alarm, and nobody learns of it.`,
      mend: LENIENT,
    },
    async (deliver) => [
      ["no text", await deliver({ body: sampleText("new_alarm", { text: undefined }) })],
      ["null for text", await deliver({ body: sampleText("new_alarm", { text: null }) })],
    ],
  ),
  keptOrSentAgain(
    {
      id: "unknown_event_type",
      title: "an event of a type that was added since is not given up",
      needs: ["delete_my_data_event"],
      why: `${FINAL}. The gateway's list of types is open, and what is answered 404 or 422 is lost.`,
      mend: LENIENT,
    },
    async (deliver) => {
      const body = sampleText("delete_my_data_event", { type: "SITE_CLOSED" });
      return [["a new event.type", await deliver({ type: "delete_my_data_event", body })]];
    },
  ),
  keptOrSentAgain(
    {
      id: "unknown_webhook_type",
      title: "a genuine delivery of an unknown webhook type is not given up",
      why: `${FINAL}: what the gateway adds is lost until the receiver knows of it.`,
      mend: LENIENT,
    },
    async (deliver) => [
      [
        "a new type",
        await deliver({ type: "account_closed", body: `{"account":{"id":${freshSeed()}}}` }),
      ],
    ],
  ),
  keptOrSentAgain(
    {
      id: "unreadable_body",
      title: "a genuine body that cannot be read is not given up",
      why: `${FINAL}. It is signed, so it is the gateway's: the answer to a fault there is not to lose it.`,
      mend: "Answer 503, and tell somebody: it is sent again while the fault is looked for.",
    },
    async (deliver) => [
      ["half of the JSON", await deliver({ body: '{"alarm":' })],
      ["a list", await deliver({ body: "[]" })],
      ["nothing", await deliver({ body: "" })],
    ],
  ),
  keptOrSentAgain(
    {
      id: "invalid_utf8",
      title: "a genuine body that is not UTF-8 is not given up",
      why: `${FINAL}. It is signed, so it is the gateway's.`,
      mend: "Verify the bytes before they are decoded, and answer 503 where that fails.",
    },
    async (deliver) => {
      const text = textOf(await deliver());
      const bytes = Uint8Array.from(text, (char, at) =>
        at === text.length - 3 ? 0xff : char.charCodeAt(0),
      );
      return [["a byte that no UTF-8 has", await deliver({ body: bytes })]];
    },
  ),
];
