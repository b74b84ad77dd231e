import { COMPUTE_SIGNATURE, type ConformanceRules } from "./conformance-rule.js";
import {
  futureDeliveries,
  inOtherForms,
  ofAccount,
  refusedRequests,
  spellings,
  staleDeliveries,
  withChangedSignatures,
  withOtherSchemes,
  withSameText,
} from "./forgeries.js";
import { guessedSecrets } from "./guessed-secrets.js";
import { failedDelivery } from "./handler-switches.js";
import {
  each,
  ID,
  reserializedBody,
  OTHER_SECRET,
  SIGNATURE,
  TIMESTAMP,
  TYPE,
  unsignedRequest,
  wrongSecret,
  type NamedDeliveries,
} from "./test-deliveries.js";
import { ADDRESS_OF_GENUINE, askingForTrust } from "./trusted-headers.js";

const STALE_WHY =
  "Someone who captured a delivery can send it again at any time. It is handled again once its id is forgotten.";
const FRESHNESS = {
  level: "should",
  why: STALE_WHY,
  fix: "Compute the whole difference in seconds, with the date, and refuse a timestamp that is more than a few minutes from your clock (Authentication, rule 7).",
  cause: "clock",
} as const;
const FORGERIES = 6;

/** A forgery, and a genuine delivery that was changed or captured and sent again, must be refused. */
export const forgeryRules: ConformanceRules = {
  wrong_secret: {
    title: "a delivery signed with another secret is refused",
    refuse: async (context) => {
      // A receiver may trust the rest of a connection, or its address, after a good signature.
      const genuine = (await context.deliver()).withHeader("X-Forwarded-For", ADDRESS_OF_GENUINE);
      await context.sendPastLimiter(genuine.withHeader("X-Real-IP", ADDRESS_OF_GENUINE));
      return [
        ...(await context.ofEachType(async (deliver) => [await wrongSecret(deliver)])),
        ...(await askingForTrust(context)),
        ...(await inOtherForms(context, wrongSecret)),
      ];
    },
  },
  guessable_secret: {
    title: "a delivery signed with an empty, missing or public secret is refused",
    why: 'With a list such as `[secret, process.env.OLD_SECRET ?? ""]`, or with `secrets[type] ?? ""`, anyone can sign: an unset variable is a known key.',
    fix: "Refuse to start with an empty or undefined secret, in each place of a list, and refuse a type that has none. Use the public test secret in tests only.",
    refuse: guessedSecrets,
  },
  unsigned: {
    title: "a delivery without a signature is refused",
    refuse: async (context) => [
      ...(await context.ofEachType(async (deliver) => [
        await unsignedRequest(deliver),
        ["an empty signature", (await deliver()).withHeader(SIGNATURE, "")],
      ])),
      ...(await inOtherForms(context, unsignedRequest)),
    ],
  },
  partial_signature: {
    title: "an incomplete or changed signature is refused",
    refuse: withChangedSignatures,
  },
  other_signature_schemes: {
    title: "a signature that does not cover timestamp, id and body is refused",
    why: "What is not signed can be changed. If only the body is signed, a captured alarm is valid under any id.",
    refuse: withOtherSchemes,
  },
  leaked_signature: {
    title: "no answer contains the signature that would have been right",
    why: "Two requests are enough to forge any alarm: the first one is told how to sign the second.",
    fix: "Never put the expected signature into an answer, a header or an error message.",
    cause: "leak",
    async whenAccepted(context) {
      const requests: NamedDeliveries = [
        ...(await refusedRequests(context.deliver)),
        ["a genuine delivery", await context.deliver()],
        ["a genuine delivery that is not JSON", await context.deliver({ body: "{" })],
      ];
      await context.inGroups(requests, async ([name, request]) => {
        const { wire } = await context.sendPastLimiter(request);
        const texts = [wire?.body, ...Object.values(wire?.headers ?? {})];
        // JSON may escape the slashes of base64.
        const said = texts.join("\n").replaceAll("\\/", "/");
        // Who sends a right signature learns nothing from it.
        const mac = request.rightMac();
        const isKnown = request.header(SIGNATURE) === `v1=${mac.toString("hex")}`;
        if (!isKnown && spellings(mac).some((one) => said.includes(one))) {
          const message = `${name}: the answer contains the signature that would have been right`;
          throw context.failure("leak", message);
        }
      });
    },
  },
  tampered: {
    title: "a changed body is refused",
    refuse: (context) =>
      context.ofEachType(async (deliver) => [
        ["another account_id", ofAccount(await deliver(), 987_654)],
      ]),
  },
  forged_after_failure: {
    title: "a changed body is refused also with the headers of a delivery whose handler failed",
    needs: ["whileFailing"],
    why: "A receiver that remembers that an id or a signature was good takes any body with it. Who has captured one delivery can then change the alarm.",
    fix: `${COMPUTE_SIGNATURE}, for each request anew.`,
    async whenAccepted(context) {
      const failed = await failedDelivery(context);
      if (failed === undefined) return;
      const changed = ofAccount(failed, 987_654);
      const forgeries: NamedDeliveries = [
        ["the headers", changed],
        ["the id and no signature", changed.withHeader(SIGNATURE)],
        ["the id and another secret", changed.signedWith(OTHER_SECRET)],
      ];
      for (const [what, forged] of forgeries) {
        const name = `another account_id with ${what} of a delivery that failed`;
        await context.refuse(name, forged);
      }
      // From now on its id may be handled.
      context.suite.log.forget(failed.id);
      const send = () => context.send(failed);
      await context.acceptInTheEnd("the genuine retry after these forgeries", failed, send);
    },
  },
  other_bytes: {
    title: "the same JSON in other bytes is refused",
    why: "A receiver that re-serializes the JSON verifies something other than what it handles.",
    fix: "Verify the raw bytes before any parser sees them.",
    cause: "bytes",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const text = delivery.text;
      return [
        ["an added space", delivery.withBody(text.replace(":", ": "))],
        ["an added newline", delivery.withBody(`${text}\n`)],
        await reserializedBody(deliver),
      ];
    },
  },
  other_bytes_same_text: {
    title: "other bytes that decode to the same text are refused",
    why: "A receiver that decodes before it verifies accepts many byte strings as the signed one.",
    fix: "Verify the bytes first, then decode them.",
    cause: "bytes",
    refuse: withSameText,
  },
  other_id: {
    title: "a signature is valid only for its own id",
    why: "Under new ids one captured alarm can be handled any number of times.",
    refuse: async (context) => {
      const [delivery, other] = [await context.deliver(), await context.deliver()];
      // As someone does who has captured a delivery. A receiver may have remembered that this signature is good.
      await context.sendPastLimiter(delivery);
      return [["another id", delivery.withHeader(ID, other.id).with({ id: other.id })]];
    },
  },
  other_timestamp: {
    title: "a signature is valid only for its own timestamp",
    why: STALE_WHY,
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const later = String(Number(delivery.header(TIMESTAMP)) + 1);
      return [["a second later", delivery.withHeader(TIMESTAMP, later)]];
    },
  },
  timestamp_text: {
    title: "the exact text of the timestamp is verified",
    why: "A receiver that parses the timestamp and writes it again verifies something other than what was sent.",
    fix: "Use the exact text of the header in the signed string.",
    cause: "headers",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const text = delivery.header(TIMESTAMP);
      return [`${text}abc`, `0${text}`, `+${text}`, `${text}.0`, `${text},1`].map(
        (odd) => [odd, delivery.withHeader(TIMESTAMP, odd)] as const,
      );
    },
  },
  delimiter_shift: {
    title: "the signed string cannot be split at other colons",
    why: "One captured delivery would be hundreds of other valid ones, each with its own id and body.",
    fix: "Accept only digits in a timestamp, and no colon in an id.",
    cause: "headers",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const [head = "", ...rest] = delivery.text.split(":");
      const moved = delivery.withBody(rest.join(":"));
      const intoId = `${delivery.id}:${head}`;
      const intoTime = `${delivery.header(TIMESTAMP)}:${delivery.id}`;
      return [
        ["part of the body in the id", moved.withHeader(ID, intoId).with({ id: intoId })],
        ["the id in the timestamp", moved.withHeader(TIMESTAMP, intoTime).withHeader(ID, head)],
      ];
    },
  },
  type_flip: {
    level: "should",
    title: "an alarm or event under another type is refused, also under an unknown one",
    needs: ["new_alarm", "delete_my_data_event"],
    why: "X-Webhook-Type is not signed. With a changed type an alarm goes to the wrong handler or to none, and its id counts as handled.",
    fix: "Take the type from the signed body (`alarm` or `event`), and refuse a header that differs.",
    cause: "type",
    refuse: async ({ deliver }) => {
      const alarm = await deliver({ type: "new_alarm" });
      const event = await deliver({ type: "delete_my_data_event" });
      return [
        ["an alarm as an event", alarm.withHeader(TYPE, "delete_my_data_event")],
        ["an event as an alarm", event.withHeader(TYPE, "new_alarm")],
        ["an alarm as an unknown type", alarm.withHeader(TYPE, "account_closed")],
        ["an event as an unknown type", event.withHeader(TYPE, "account_closed")],
      ];
    },
  },
  cut_body: {
    title: "a truncated body is refused",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const { body } = delivery;
      return [
        ["half of it", delivery.withBody(body.subarray(0, body.length / 2))],
        ["all but its last byte", delivery.withBody(body.subarray(0, -1))],
        ["none of it", delivery.withBody("")],
      ];
    },
  },
  stale: {
    title: "a delivery that was signed 31 minutes to a year ago is refused",
    ...FRESHNESS,
    fix: `${FRESHNESS.fix} If the gateway repeats its first timestamp, leave this case out: accept one as old as you remember ids.`,
    refuse: staleDeliveries,
  },
  future: {
    title: "a delivery that was signed 31 minutes to a year in the future is refused",
    ...FRESHNESS,
    refuse: futureDeliveries,
  },
  big_forgery: {
    title: "a forged body over the limit is refused and does no harm",
    why: "Without a limit a body can fill the receiver's memory before its signature is checked.",
    fix: "Stop reading the body at a limit.",
    cause: "size",
    async whenAccepted(context) {
      const delivery = await context.deliver();
      const big = delivery.withBody(new Uint8Array(2 * context.settings.maxBodyBytes));
      // Closing the connection without an answer is fine too.
      await context.refuse("twice the limit", big);
      await context.expectStillAccepts("a body over the limit");
    },
  },
  concurrent_forgeries: {
    title: "a forged delivery that arrives together with genuine ones is refused",
    why: "If requests share a variable, the good signature of one lets another one in.",
    fix: "Keep nothing of a request in a variable that requests share, such as one of the module or of a singleton.",
    async whenAccepted(context) {
      const pairs = await each(await context.ofAllTypes(FORGERIES), async (genuine) => {
        const [, forged] = await wrongSecret(context.deliver);
        return [forged, genuine] as const;
      });
      // In turn, so that a genuine delivery follows each forgery.
      const answers = await each(pairs, ([forged, genuine]) => {
        const forgery = context.sendPastLimiter(forged, () => context.sendAlone(forged));
        return Promise.all([forgery, context.sendAlone(genuine)]);
      });
      for (const [at, [answer]] of answers.entries()) {
        const { id = "" } = pairs[at]?.[0] ?? {};
        await context.expectNotAccepted("a forgery beside genuine deliveries", id, answer);
      }
    },
  },
};
