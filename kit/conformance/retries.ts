import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { CaseContext } from "./case-context.js";
import {
  FINAL_STATUSES_WHY,
  LENIENT_FIX,
  type ConformanceRules,
  type MakeDeliveries,
} from "./conformance-rule.js";
import {
  bigId,
  expectRareRecordsTaken,
  FORM_TYPES,
  JSON_AND_TEXT_TYPES,
  ODD_MEMBERS,
  ofRecords,
  withoutEach,
} from "./records.js";
import {
  driftedClock,
  each,
  freshSeed,
  missingHeaders,
  reserializedBody,
  sampleText,
  SIGNATURE,
  unsignedRequest,
  withRecordMember,
  wrongSecret,
  type MakeDelivery,
  type NamedDeliveries,
} from "./test-deliveries.js";

const IGNORE_TYPE = "Ignore the content type: the signature proves what the body is.";

/** What may be genuine, and what is genuine and may be unknown to the receiver, must be handled or sent again. */
export const retriesRules: ConformanceRules = {
  wrong_secret_sent_again: {
    title: "a delivery signed with another secret gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A new secret that is not deployed everywhere looks like this, and all alarms of that hour are lost.`,
    fix: "Answer 409. A forger learns no more from it, and the alarms arrive once the secret is right.",
    retry: (context) => context.ofEachType(async (deliver) => [await wrongSecret(deliver)]),
  },
  unsigned_sent_again: {
    title: "a delivery without a signature gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A webhook that was registered without its secret looks like this, and its alarms are lost.`,
    fix: "Answer 409 and alert someone.",
    retry: (context) => context.ofEachType(async (deliver) => [await unsignedRequest(deliver)]),
  },
  drifted_clock_sent_again: {
    title: "a timestamp far from the receiver's clock gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A wrong clock on your side looks like this, and every alarm is lost until the clock is set.`,
    retry: (context) => context.ofEachType(driftedClock),
  },
  rewritten_body_sent_again: {
    title: "a body that was re-serialized on the way gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A proxy or a parser in front that rewrites bodies looks like this, and every alarm is lost until it is removed.`,
    retry: async ({ deliver }) => [await reserializedBody(deliver)],
  },
  lost_headers_sent_again: {
    level: "should",
    title: "a delivery without one of its headers gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A proxy that drops headers looks like this.`,
    retry: ({ deliver }) => missingHeaders(deliver),
  },
  oversize: {
    title: "a genuine body over the limit gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. With a retryable status it arrives once the limit is raised.`,
    fix: "Answer 409 and close the connection, or accept the body.",
    cause: "size",
    async check(context) {
      const { maxBodyBytes } = context.settings;
      const text = (await context.deliver()).text;
      const big = await context.deliver({ body: " ".repeat(2 * maxBodyBytes) + text });
      await context.expectNotGivenUp([["twice the limit", big]]);
      await context.expectStillAccepts("a body over the limit");
    },
  },
  unlisted_statuses: {
    level: "should",
    title: "every status is one that the gateway's contract mentions",
    why: "The gateway's document does not say whether it sends again after redirects, 405, 410, 413 or 415.",
    fix: "Answer 409 to what may be genuine, and 2xx, 500 or 503 to what is genuine.",
    async check(context) {
      const { deliver } = context;
      const plainText = (await deliver()).withHeader("Content-Type", "text/plain");
      const big = (await deliver()).withBody(new Uint8Array(2 * context.settings.maxBodyBytes));
      const requests: NamedDeliveries = [
        ["a genuine delivery", await deliver()],
        ["text/plain", plainText],
        await wrongSecret(deliver),
        await unsignedRequest(deliver),
        await reserializedBody(deliver),
        ...(await driftedClock(deliver)),
        ...(await missingHeaders(deliver)),
        ["a body over the limit", big],
      ];
      await context.inGroups(requests, async ([name, request]) => {
        const answer = await context.send(request);
        const isListed = answer.result !== "unlisted";
        context.expect(isListed, name, "a status of the gateway's contract", answer);
      });
      await context.expectStillAccepts("these requests");
    },
  },
  content_types: {
    level: "should",
    title:
      "a genuine delivery with any content type of JSON, text or bytes is handled or sent again",
    why: `${FINAL_STATUSES_WHY}, and its contract does not mention 415. The gateway sends application/json, so only a proxy that rewrites the header can cause this. It would cost every alarm.`,
    fix: IGNORE_TYPE,
    acceptOrRetry: async ({ deliver }) => [
      ["a delivery without Content-Type", (await deliver()).withHeader("Content-Type")],
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
      const digits = delivery.header(SIGNATURE).slice("v1=".length).toUpperCase();
      return [["upper case", delivery.withHeader(SIGNATURE, `v1=${digits}`)]];
    },
  },
  byte_order_mark: {
    title: "a genuine body with a byte order mark is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Some libraries write a byte order mark before JSON, which would cost every alarm.`,
    cause: "bytes",
    acceptOrRetry: async ({ deliver }) => [
      ["a byte order mark", await deliver({ body: `\uFEFF${(await deliver()).text}` })],
    ],
  },
  legacy_values: {
    title: "a record with numbers as text or text as numbers is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Legacy formats vary (Versioning, rule 3), and a strict schema would answer 422.`,
    acceptOrRetry: (context) => {
      const { id, account_id } = sampleAlarm();
      const account = String(account_id);
      return context.records([
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
    acceptOrRetry: ofRecords([
      ...withoutEach("new_alarm", sampleAlarm()),
      ...withoutEach("delete_my_data_event", sampleOnlineDataEvent("DATA_REAPPEARED")),
      ["delete_my_data_event", "no site fields", { site_id: undefined, site_name: undefined }],
    ]),
  },
  unknown_event_type: {
    title: "an event of a new type is handled or sent again",
    needs: ["delete_my_data_event"],
    why: `${FINAL_STATUSES_WHY}. The gateway may add event types, and an event that is answered 404 or 422 is lost.`,
    acceptOrRetry: ofRecords([
      ["delete_my_data_event", "a new event.type", { type: "SITE_CLOSED" }],
      ["delete_my_data_event", "the event.type constructor", { type: "constructor" }],
    ]),
  },
  unknown_webhook_type: {
    title: "a delivery of an unknown webhook type is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Deliveries of a type that the gateway adds are lost until the receiver knows it.`,
    acceptOrRetry: async ({ deliver }) => {
      return each(["account_closed", "constructor"], async (type) => {
        const body = `{"account":{"id":${freshSeed()}}}`;
        return [`the new type ${type}`, await deliver({ type, body })] as const;
      });
    },
  },
  unreadable_body: {
    title: "a genuine body that cannot be read is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it: a fault of the gateway must not lose the alarm.`,
    fix: "Answer 503 and alert someone: the gateway sends it again while the fault is looked for.",
    acceptOrRetry: async ({ deliver }) => [
      ["half of the JSON", await deliver({ body: '{"alarm":' })],
      ["a JSON array", await deliver({ body: "[]" })],
      [
        "neither an alarm nor an event",
        await deliver({ body: `{"record":{"id":${freshSeed()}}}` }),
      ],
      ["the JSON null", await deliver({ body: "null" })],
      ["an alarm that is null", await deliver({ body: '{"alarm":null,"event":null}' })],
      ["an empty body", await deliver({ body: "" })],
    ],
  },
  invalid_utf8: {
    title: "a genuine body that is not UTF-8 is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. It is signed, so the gateway sent it.`,
    fix: "Verify the bytes before you decode them, and answer 503 if decoding fails.",
    cause: "bytes",
    acceptOrRetry: async ({ deliver }) => {
      const text = (await deliver()).text;
      const body = Uint8Array.from(text, (char) => char.charCodeAt(0));
      body[text.length - 3] = 0xff;
      return [["a byte that is never UTF-8", await deliver({ body })]];
    },
  },
  odd_payload: {
    title: "an alarm whose payload is not a JSON object is handled or sent again",
    needs: ["new_alarm"],
    why: `${FINAL_STATUSES_WHY}. The payload is written by a vendor: one that is cut off or empty would cost the alarm.`,
    fix: LENIENT_FIX,
    check: odd(
      ofRecords([
        ["new_alarm", "an empty payload", { payload: "" }],
        ["new_alarm", "a payload that is cut off", { payload: '{"breach":{"name":"Example Sh' }],
        ["new_alarm", 'the payload "null"', { payload: "null" }],
        ["new_alarm", 'the payload "[]"', { payload: "[]" }],
        ["new_alarm", "an object as payload", { payload: { breach: { name: "Example Shop" } } }],
      ]),
    ),
  },
  odd_values: {
    title: "a record with a new status, an id over 2^31 or odd characters is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. A new status or the first id beyond 2 147 483 647 would cost every alarm from then on. A text from a leak may hold any character, also U+0000 and half of a surrogate pair.`,
    fix: LENIENT_FIX,
    check: odd((context) =>
      context.records([
        ["new_alarm", "a new status", { status: "SNOOZED" }],
        ["new_alarm", "an id over 2^31", { id: bigId() }],
        ["new_alarm", "an account_id over 2^31", { account_id: bigId() }],
        ["delete_my_data_event", "an account_id over 2^31 in an event", { account_id: bigId() }],
        ["delete_my_data_event", "a site_id over 2^31", { site_id: bigId() }],
        ...["a\u0000b", "\ud83d"].flatMap((text) => {
          const name = JSON.stringify(text);
          return [
            ["new_alarm", `the text ${name}`, { text }],
            ["delete_my_data_event", `the site_name ${name}`, { site_name: text }],
          ] as const;
        }),
      ]),
    ),
  },
  odd_members: {
    title: "a record with odd keys, numbers and texts is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Some parsers refuse such JSON, some end the process, and others change their own objects.`,
    fix: LENIENT_FIX,
    check: odd(async ({ deliver, settings: { types } }) => {
      const lists = await each(ODD_MEMBERS, ([name, member]) =>
        each(types, async (type) => {
          const body = withRecordMember(sampleText(type), member);
          return [`${name} (${type})`, await deliver({ type, body })] as const;
        }),
      );
      return lists.flat();
    }),
  },
  rare_values: {
    title: "a record with rare but documented values is handled once or sent again",
    why: `${FINAL_STATUSES_WHY}. Such values are right, so they come one day: an empty text, an offset west of UTC, a long id.`,
    fix: LENIENT_FIX,
    check: expectRareRecordsTaken,
  },
};

function odd(records: MakeDeliveries): (context: CaseContext) => Promise<void> {
  return async (context) => {
    await context.expectAcceptedOrRetried(await records(context));
    await context.expectStillAccepts("these records");
  };
}

function ofContentTypes(deliver: MakeDelivery, types: readonly string[]) {
  return each(types, async (type) => {
    return [`"${type}"`, (await deliver()).withHeader("Content-Type", type)] as const;
  });
}
