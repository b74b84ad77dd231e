import { forgedAfterFailureRules } from "./after-failure-rules.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { freshnessRules, STALE_WHY } from "./freshness-rules.js";
import { expectNotAccepted, expectStillAccepts } from "./expectations.js";
import { sendPastLimiter } from "./resending.js";
import { ofEachType } from "./rule-kinds.js";
import { headerOf, ID, textOf, TIMESTAMP, TYPE, withBody, withHeader } from "./request-changes.js";
import { each } from "./test-deliveries.js";
import { reserializedBody } from "./unverifiable-requests.js";

/** Bytes that decoders and filters drop from a text. */
const DROPPED: readonly (readonly [name: string, ...bytes: number[]])[] = [
  ["0xFF", 0xff],
  ["a lone continuation byte", 0x80],
  ["an overlong NUL", 0xc0, 0x80],
  ["half of a character", 0xe2, 0x82],
  ["half of a surrogate pair", 0xed, 0xa0, 0x80],
  ["a NUL", 0x00],
  ["a control character", 0x01],
  ["DEL", 0x7f],
  ["a soft hyphen", 0xc2, 0xad],
  ["a zero-width space", 0xe2, 0x80, 0x8b],
  ["a byte order mark", 0xef, 0xbb, 0xbf],
  ["a letter beyond ASCII", 0xc3, 0xa9],
];

/** A genuine delivery that was changed, or captured and sent again, must be refused. */
export const forgeryRules: ConformanceRules = {
  tampered: {
    title: "a changed body is refused",
    refuse: (context) =>
      ofEachType(context, async (deliver) => {
        const delivery = await deliver();
        const text = textOf(delivery).replace(/"account_id":\d+/, '"account_id":987654');
        return [["another account_id", withBody(delivery, text)]];
      }),
  },
  ...forgedAfterFailureRules,
  other_bytes: {
    title: "the same JSON in other bytes is refused",
    why: "A receiver that re-serializes the JSON verifies something other than what it handles.",
    fix: "Verify the raw bytes before any parser sees them.",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const text = textOf(delivery);
      return [
        ["an added space", withBody(delivery, text.replace(":", ": "))],
        ["an added newline", withBody(delivery, `${text}\n`)],
        await reserializedBody(deliver),
      ];
    },
  },
  other_bytes_same_text: {
    title: "other bytes that decode to the same text are refused",
    why: "A receiver that decodes before it verifies accepts many byte strings as the signed one.",
    fix: "Verify the bytes first, then decode them.",
    refuse: async (context) => {
      const { deliver } = context;
      const encoder = new TextEncoder();
      const original = textOf(await deliver());
      // Decoders replace invalid UTF-8 with U+FFFD, drop it, or drop a byte order mark.
      const replaced = await deliver({ body: `{"note":"\uFFFD",${original.slice(1)}` });
      const [head = "", rest = ""] = textOf(replaced).split("\uFFFD");
      const bytes = Uint8Array.of(...encoder.encode(head), 0xff, ...encoder.encode(rest));
      const plain = await deliver();
      const text = textOf(plain);
      const added = Uint8Array.of(...plain.body.subarray(0, 2), 0xff, ...plain.body.subarray(2));
      const utf16 = withBody(plain, Buffer.from(text, "utf16le"));
      const inside = await ofEachType(context, (deliver) =>
        each(DROPPED, async ([name, ...added]) => {
          const delivery = await deliver();
          const { body } = delivery;
          // In the first text that is no key.
          const at = textOf(delivery).indexOf('":"') + 4;
          const changed = Uint8Array.of(...body.subarray(0, at), ...added, ...body.subarray(at));
          return [`${name} inside a text`, withBody(delivery, changed)] as const;
        }),
      );
      return [
        ...inside,
        ["a byte that is never UTF-8", withBody(replaced, bytes)],
        ["an added byte that is never UTF-8", withBody(plain, added)],
        ["an added byte order mark", withBody(plain, `\uFEFF${text}`)],
        ["an added NUL", withBody(plain, `${text}\u0000`)],
        ["UTF-16", withHeader(utf16, "Content-Type", "application/json; charset=utf-16le")],
      ];
    },
  },
  other_id: {
    title: "a signature is valid only for its own id",
    why: "Under new ids one captured alarm can be handled any number of times.",
    refuse: async (context) => {
      const [delivery, other] = [await context.deliver(), await context.deliver()];
      // As someone does who has captured a delivery. A receiver may have remembered that this signature is good.
      await sendPastLimiter(context, delivery);
      return [["another id", { ...withHeader(delivery, ID, other.id), id: other.id }]];
    },
  },
  other_timestamp: {
    title: "a signature is valid only for its own timestamp",
    why: STALE_WHY,
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const later = String(Number(headerOf(delivery, TIMESTAMP)) + 1);
      return [["a second later", withHeader(delivery, TIMESTAMP, later)]];
    },
  },
  timestamp_text: {
    title: "the exact text of the timestamp is verified",
    why: "A receiver that parses the timestamp and writes it again verifies something other than what was sent.",
    fix: "Use the exact text of the header in the signed string.",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const text = headerOf(delivery, TIMESTAMP);
      return [`${text}abc`, `0${text}`, `+${text}`, `${text}.0`, `${text},1`].map(
        (odd) => [odd, withHeader(delivery, TIMESTAMP, odd)] as const,
      );
    },
  },
  delimiter_shift: {
    title: "the signed string cannot be split at other colons",
    why: "One captured delivery would be hundreds of other valid ones, each with its own id and body.",
    fix: "Accept only digits in a timestamp, and no colon in an id.",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const text = textOf(delivery);
      const [time, colon] = [headerOf(delivery, TIMESTAMP), text.indexOf(":")];
      const rest = text.slice(colon + 1);
      const intoId = `${delivery.id}:${text.slice(0, colon)}`;
      const moved = withBody(delivery, rest);
      return [
        ["part of the body in the id", { ...withHeader(moved, ID, intoId), id: intoId }],
        [
          "the id in the timestamp",
          withHeader(
            withHeader(moved, TIMESTAMP, `${time}:${delivery.id}`),
            ID,
            text.slice(0, colon),
          ),
        ],
      ];
    },
  },
  type_flip: {
    title: "an alarm or event under another type is refused, also under an unknown one",
    needs: ["new_alarm", "delete_my_data_event"],
    why: "X-Webhook-Type is not signed. With a changed type an alarm goes to the wrong handler or to none, and its id counts as handled.",
    fix: "Take the type from the signed body (`alarm` or `event`), and refuse a header that differs.",
    refuse: async ({ deliver }) => {
      const [alarm, event] = [
        await deliver({ type: "new_alarm" }),
        await deliver({ type: "delete_my_data_event" }),
      ];
      return [
        ["an alarm as an event", withHeader(alarm, TYPE, "delete_my_data_event")],
        ["an event as an alarm", withHeader(event, TYPE, "new_alarm")],
        ["an alarm as an unknown type", withHeader(alarm, TYPE, "account_closed")],
        ["an event as an unknown type", withHeader(event, TYPE, "account_closed")],
      ];
    },
  },
  cut_body: {
    title: "a truncated body is refused",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const { body } = delivery;
      return [
        ["half of it", withBody(delivery, body.subarray(0, body.length / 2))],
        ["all but its last byte", withBody(delivery, body.subarray(0, -1))],
        ["none of it", withBody(delivery, "")],
      ];
    },
  },
  ...freshnessRules,
  big_forgery: {
    title: "a forged body over the limit is refused and does no harm",
    why: "Without a limit a body can fill the receiver's memory before its signature is checked.",
    fix: "Stop reading the body at a limit.",
    async whenAccepted(context) {
      const delivery = await context.deliver();
      const big = withBody(delivery, new Uint8Array(2 * context.settings.maxBodyBytes));
      // Closing the connection without an answer is fine too.
      const answer = await sendPastLimiter(context, big);
      await expectNotAccepted(context, "twice the limit", delivery.id, answer);
      await expectStillAccepts(context, "a body over the limit");
    },
  },
};
