import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import { deliveriesOfAllTypes, expectEachHandledOnce } from "./concurrent-rules.js";
import type { ConformanceRules } from "./conformance-rule.js";
import {
  expectAccepted,
  expectAllAccepted,
  expectStillAccepts,
  type NamedDeliveries,
} from "./expectations.js";
import { invalidHeaderRules } from "./raw-request-rules.js";
import { KeptConnection } from "./kept-connection.js";
import { isRetried } from "./receiver-answer.js";
import { signedWith, withBody } from "./request-changes.js";
import { saysLater, sendGenuine } from "./resending.js";
import { stalledUploadRules } from "./stalled-upload-rules.js";
import { sampleText } from "./test-deliveries.js";
import { wrongSecret } from "./unverifiable-requests.js";

/** How far beyond the receiver's limit a body is that no receiver should accept: 16 MiB. */
const BEYOND_BYTES = 16 * 1_048_576;
const BIG = new Uint8Array(100_000).fill(0x20);

/** Bodies in pieces, interrupted uploads and reused connections must do no harm. */
export const transportRules: ConformanceRules = {
  split_characters: {
    title: "a character that is split between two packets is read correctly",
    why: "A receiver that decodes each packet separately refuses an alarm whenever a packet ends inside a character such as å.",
    fix: "Collect all bytes first, then decode them.",
    onConnection: async (context, connection) => {
      const text = context.settings.types.includes("new_alarm")
        ? sampleText("new_alarm", { text: "å警🔔".repeat(20) })
        : sampleText("delete_my_data_event", { client_id: "å警🔔".repeat(20) });
      const delivery = await context.deliver({ body: text });
      const pieces = Array.from(delivery.body, (byte) => Uint8Array.of(byte));
      const answer = await sendGenuine(context, delivery, () =>
        context.sendBy(delivery, () => connection.send(delivery, pieces)),
      );
      await expectAccepted(context, "a body byte by byte", delivery.id, answer);
    },
  },
  broken_upload: {
    title: "an interrupted upload is not handled and does no harm",
    why: "Half an alarm would be handled, or an unhandled error would end the process.",
    fix: "Wait for the end of the body, and handle its error event.",
    onConnection: async (context, connection) => {
      const delivery = await context.deliver();
      await connection.sendCutBody(delivery, 10);
      await expectStillAccepts(context, "an interrupted upload");
      const runs = await context.runsOf(delivery.id);
      if (runs !== undefined && runs > 0)
        throw context.failure("wrongly_handled", "the interrupted upload was handled");
      await expectAllAccepted(context, [["the complete delivery", delivery]]);
    },
  },
  keep_alive: {
    title: "after a refusal the connection accepts the next request or is closed",
    why: "An unread body is taken for the next request, so the alarm after it on the same connection fails.",
    fix: "Read a refused body to its end, or answer with `Connection: close`.",
    onConnection: async (context, connection) => {
      const [, forged] = await wrongSecret(context.deliver);
      const refused: NamedDeliveries = [
        ["PUT", { ...withBody(forged, BIG), method: "PUT" }],
        ["a forged body", withBody(forged, BIG)],
        ["no webhook header", { ...withBody(forged, BIG), headers: [] }],
      ];
      for (const [name, request] of refused) {
        await context.sendBy(request, () => connection.send(request));
        const delivery = await context.deliver();
        const answer = await sendGenuine(context, delivery, () =>
          context.sendBy(delivery, () => connection.send(delivery)),
        );
        await expectAccepted(context, `a genuine delivery after ${name}`, delivery.id, answer);
      }
    },
  },
  expect_continue: {
    level: "should",
    title: "a client that waits for 100 Continue gets it",
    why: "Some HTTP clients send a big body only after 100 Continue, and give up without it.",
    fix: "Let the server answer `Expect: 100-continue`. Most servers do so by default.",
    onConnection: async (context, connection) => {
      const delivery = await context.deliver();
      let wasAsked: boolean | undefined;
      const send = async () => {
        const { hasAsked, ...answer } = await connection.sendWithExpect(delivery);
        wasAsked = hasAsked;
        return answer;
      };
      const answer = await sendGenuine(context, delivery, () => context.sendBy(delivery, send));
      await expectAccepted(context, "Expect: 100-continue", delivery.id, answer);
      if (wasAsked === false) {
        const message =
          "Expect: 100-continue: 100 Continue never came, so the body was sent without it";
        throw context.failure("no_continue", message);
      }
    },
  },
  interleaved_uploads: {
    title: "uploads that arrive at the same time are told apart",
    why: "If requests share a buffer, the alarms of slow connections are mixed up, and each of them is refused or lost.",
    fix: "Keep the bytes of a body in a variable of its own request.",
    runsAlone: true,
    onConnection: expectUploadsToldApart,
  },
  unlimited_body: {
    level: "should",
    title: "a body of many megabytes is refused, also without Content-Length",
    why: "Without a limit a few requests can fill the receiver's memory. Anyone who finds the URL can send them.",
    fix: "Count the bytes while you read, and answer 409 at a limit. Content-Length is not enough: a chunked body has none.",
    runsAlone: true,
    onConnection: async (context) => {
      const delivery = await context.deliver();
      const padding = new Uint8Array(2 * context.settings.maxBodyBytes + BEYOND_BYTES).fill(0x20);
      const body = Buffer.concat([padding, delivery.body]);
      // Only a signed body shows that the receiver has read all of it: it might also refuse what it drops.
      const signed = signedWith(withBody(delivery, body), context.settings.secret);
      const answer = await context.send({ ...signed, chunked: true });
      const name = `a body of ${body.length} bytes`;
      context.expect(answer.result !== "acknowledged", name, "a refusal", answer);
      await expectStillAccepts(context, "a body of many megabytes");
    },
  },
  ...stalledUploadRules,
  ...invalidHeaderRules,
};

/** How many uploads are under way at the same time. */
const UPLOADS = 8;

/** Waits in small steps, since the receiver may be in this process and needs its turns. */
async function whileReceiverReads(): Promise<void> {
  for (let step = 0; step < 30; step++) await wait(15);
}

/** Sends the first halves of several bodies, then the second ones in the same order. */
async function expectUploadsToldApart(
  context: CaseContext,
  _connection: KeptConnection,
  url: URL,
): Promise<void> {
  const deliveries = await deliveriesOfAllTypes(context, UPLOADS);
  const atHalf: (() => void)[] = [];
  const halfway = (): Promise<void> =>
    new Promise((resolve) => {
      atHalf.push(resolve);
      if (atHalf.length < UPLOADS) return;
      void whileReceiverReads().then(() => {
        for (const finish of atHalf) finish();
      });
    });
  const sent = deliveries.map(async (delivery) => {
    const connection = new KeptConnection(url, context.settings);
    const send = () => connection.sendInHalves(delivery, halfway);
    const answer = await context.sendBy(delivery, send);
    connection.close();
    return [delivery, answer] as const;
  });
  const pairs = await Promise.all(sent);
  // A receiver that is busy may refuse some of them, but not all.
  if (pairs.every(([, answer]) => isRetried(answer) && !saysLater(answer))) {
    const text = pairs[0]?.[1].text ?? "";
    const message = `none of ${UPLOADS} uploads at the same time was accepted: ${text}`;
    throw context.failure("not_accepted", message);
  }
  await expectEachHandledOnce(context, pairs, "at the same time");
}
