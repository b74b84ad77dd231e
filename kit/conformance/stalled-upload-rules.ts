import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectAccepted } from "./expectations.js";
import type { KeptConnection } from "./kept-connection.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { sendGenuine } from "./resending.js";
import type { Delivery } from "./test-deliveries.js";

/** No network between two servers pauses longer, as long as it works. */
const PAUSE_MS = 2_000;

/** An upload that stands still must neither be given up nor hold up the others. */
export const stalledUploadRules: ConformanceRules = {
  stalled_upload: {
    title: "genuine deliveries are handled while another upload stands still, and so is that one",
    why: "A slow connection, or someone who opens one and sends nothing, holds up every alarm behind it. An upload that is given a final status, or is cut off and handled in part, loses its own.",
    fix: "Read each body on its own, with more than one worker or asynchronously, and answer 408 or close the connection when an upload takes too long.",
    onConnection: async (context, connection) => {
      const [stalled, answer] = await sendWithPause(context, connection, async () => {
        for (const type of context.settings.types) {
          const delivery = await context.deliver({ type });
          const send = () => context.sendAlone(delivery);
          const answer = await sendGenuine(context, delivery, send);
          await expectAccepted(context, "a delivery beside a stalled upload", delivery.id, answer);
        }
      });
      if (!isRetried(answer))
        await expectAccepted(context, "the stalled upload", stalled.id, answer);
    },
  },
  paused_upload: {
    level: "should",
    title: "a delivery whose upload pauses for two seconds is acknowledged",
    why: "Packets get lost and are sent again seconds later. A limit of a second refuses each attempt over such a network.",
    fix: "Allow ten seconds of silence or more within an upload.",
    onConnection: async (context, connection) => {
      const [{ id }, answer] = await sendWithPause(context, connection);
      await expectAccepted(context, "an upload with a pause", id, answer);
    },
  },
};

/** Sends a delivery of which half the body comes after a pause, and does something meanwhile. */
async function sendWithPause(
  context: CaseContext,
  connection: KeptConnection,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<readonly [Delivery, ReceiverAnswer]> {
  const delivery = await context.deliver();
  // Before the stalled request itself runs out of time, which would let the others go on.
  const limitMs = Math.max(PAUSE_MS, 0.7 * context.settings.timeoutMs);
  let work: Promise<void> = Promise.resolve();
  const seen = { isLate: false };
  const pause = async (): Promise<void> => {
    work = meanwhile();
    const isOver = Promise.allSettled([work, wait(PAUSE_MS)]).then(() => false);
    seen.isLate = await Promise.race([isOver, wait(limitMs, true, { ref: false })]);
  };
  const answer = await context.sendBy(delivery, () => connection.sendInHalves(delivery, pause));
  if (seen.isLate) {
    const message = `a delivery beside a stalled upload: no answer in ${limitMs} ms`;
    throw context.failure("no_answer", message);
  }
  await work;
  return [delivery, answer];
}
