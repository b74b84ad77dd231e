import type { ConformanceRule } from "./conformance-rule.js";
import { ensureNotTaken, ensureTakesGenuine, expectSurvived } from "./expectations.js";
import { sendPastLimiter } from "./send-genuine.js";
import { refused } from "./refused.js";
import { headerOf, ID, textOf, TIMESTAMP, TYPE, withBody, withHeader } from "./request-changes.js";
import { driftedClock, rewrittenBody } from "./suspect-requests.js";

const STALE_WHY =
  "A captured delivery can be sent again for ever, and is handled again once its id is forgotten.";
const STALE_MEND =
  "Refuse a timestamp more than a few minutes from your clock (Authentication, rule 7).";

/** Genuine deliveries, changed: nothing else than what the gateway sent gets in. */
export const forgeryRules: readonly ConformanceRule[] = [
  refused({ id: "tampered", title: "a body that was changed is refused" }, async ({ deliver }) => {
    const delivery = await deliver();
    const text = textOf(delivery).replace(/"account_id":\d+/, '"account_id":987654');
    return [["another account_id", withBody(delivery, text)]];
  }),
  refused(
    {
      id: "other_bytes",
      title: "other bytes of the same JSON are refused",
      why: "A receiver that signs JSON written anew verifies something else than what it handles.",
      mend: "Verify the bytes as they came, before any parser.",
    },
    async ({ deliver }) => {
      const delivery = await deliver();
      const text = textOf(delivery);
      return [
        ["white space more", withBody(delivery, text.replace(":", ": "))],
        ["a newline more", withBody(delivery, `${text}\n`)],
        await rewrittenBody(deliver),
      ];
    },
  ),
  refused(
    {
      id: "other_bytes_same_text",
      title: "bytes that only decode to the same text are refused",
      why: "A receiver that decodes before it verifies takes many byte strings for the signed one.",
      mend: "Verify the bytes, and decode them afterwards.",
    },
    async ({ deliver }) => {
      const text = textOf(await deliver());
      // U+FFFD, which decoders put in the place of what is no UTF-8.
      const delivery = await deliver({ body: `{"note":"\uFFFD",${text.slice(1)}` });
      const [head = "", rest = ""] = textOf(delivery).split("\uFFFD");
      const encoder = new TextEncoder();
      const bytes = Uint8Array.of(...encoder.encode(head), 0xff, ...encoder.encode(rest));
      return [["a byte that no UTF-8 has", withBody(delivery, bytes)]];
    },
  ),
  refused(
    {
      id: "other_id",
      title: "a signature is good for its own id alone",
      why: "With other ids one captured alarm is handled as often as anyone likes.",
    },
    async ({ deliver }) => {
      const [delivery, other] = [await deliver(), await deliver()];
      return [["another id", { ...withHeader(delivery, ID, other.id), id: other.id }]];
    },
  ),
  refused(
    { id: "other_timestamp", title: "a signature is good for its own time alone", why: STALE_WHY },
    async ({ deliver }) => {
      const delivery = await deliver();
      const later = String(Number(headerOf(delivery, TIMESTAMP)) + 1);
      return [["a second later", withHeader(delivery, TIMESTAMP, later)]];
    },
  ),
  refused(
    {
      id: "timestamp_text",
      title: "the timestamp is verified as the text that it is",
      why: "A timestamp that is read as a number and written anew verifies something else than what came.",
      mend: "Put the header's exact text into what is signed.",
    },
    async ({ deliver }) => {
      const delivery = await deliver();
      const text = headerOf(delivery, TIMESTAMP);
      return [`${text}abc`, `0${text}`, `+${text}`, `${text}.0`, `${text},1`].map(
        (odd) => [odd, withHeader(delivery, TIMESTAMP, odd)] as const,
      );
    },
  ),
  refused(
    {
      id: "delimiter_shift",
      title: "what is signed cannot be cut at other colons",
      why: "One captured delivery is hundreds of other signed ones, each with an id and a body of its own.",
      mend: "Take digits alone for a timestamp, and no colon in an id.",
    },
    async ({ deliver }) => {
      const delivery = await deliver();
      const text = textOf(delivery);
      const [time, colon] = [headerOf(delivery, TIMESTAMP), text.indexOf(":")];
      const rest = text.slice(colon + 1);
      const intoId = `${delivery.id}:${text.slice(0, colon)}`;
      const moved = withBody(delivery, rest);
      return [
        ["a part of the body in the id", { ...withHeader(moved, ID, intoId), id: intoId }],
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
  ),
  refused(
    {
      id: "type_flip",
      title: "an alarm is not taken for an event, nor an event for an alarm",
      needs: ["new_alarm", "delete_my_data_event"],
      why: "X-Webhook-Type is not signed: with another one an alarm ends in the wrong handler, and its id counts as handled.",
      mend: "Take the type of the signed body (`alarm` or `event`), and refuse a header that says otherwise.",
    },
    async ({ deliver }) => {
      const [alarm, event] = [
        await deliver({ type: "new_alarm" }),
        await deliver({ type: "delete_my_data_event" }),
      ];
      return [
        ["an alarm as an event", withHeader(alarm, TYPE, "delete_my_data_event")],
        ["an event as an alarm", withHeader(event, TYPE, "new_alarm")],
      ];
    },
  ),
  refused({ id: "cut_body", title: "a body that was cut is refused" }, async ({ deliver }) => {
    const delivery = await deliver();
    const { body } = delivery;
    return [
      ["half of it", withBody(delivery, body.subarray(0, body.length / 2))],
      ["all but its last byte", withBody(delivery, body.subarray(0, -1))],
      ["none of it", withBody(delivery, "")],
    ];
  }),
  refused(
    {
      id: "stale",
      level: "should",
      title: "a delivery from an hour ago is refused",
      why: STALE_WHY,
      mend: STALE_MEND,
    },
    async ({ deliver }) => (await driftedClock(deliver)).slice(0, 1),
  ),
  refused(
    {
      id: "future",
      level: "should",
      title: "a delivery from an hour ahead is refused",
      why: STALE_WHY,
      mend: STALE_MEND,
    },
    async ({ deliver }) => (await driftedClock(deliver)).slice(1),
  ),
  {
    id: "big_forgery",
    level: "must",
    title: "a forged body over the limit is refused, and does no harm",
    why: "Bodies without a bound fill the memory of a receiver before their signature is looked at.",
    mend: "Stop reading at a limit.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      const delivery = await trial.deliver();
      const big = withBody(delivery, new Uint8Array(2 * trial.settings.maxBodyBytes));
      // To close the connection is as good an answer.
      const reply = await sendPastLimiter(trial, big);
      await ensureNotTaken(trial, "twice the limit", delivery.id, reply);
      await expectSurvived(trial, "a body over the limit");
    },
  },
];
