import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectAccepted } from "./expectations.js";
import { whileHandler } from "./failing-handlers.js";
import { KeptConnection } from "./kept-connection.js";
import { sendAgain, sendUntilAcknowledged } from "./resending.js";
import { each, type Delivery } from "./test-deliveries.js";

/** How long after the upload the sender hangs up. A quick receiver may have answered by then. */
const HANG_UP_AFTER_MS = [0, 5, 20] as const;
/** The same while the handler is slow, so that it surely runs; and when the retry follows. */
const MEANWHILE_MS = 100;

/** A sender that does not wait for the answer sends the delivery again. */
export const hangUpRules: ConformanceRules = {
  hang_up: {
    title: "a delivery whose sender hangs up before the answer is handled once when it comes again",
    why: "A gateway or a proxy that runs out of patience hangs up and sends the delivery again. If the id stays locked or counts as handled, the alarm is lost; if it is freed while the handler runs, it is handled twice.",
    fix: "Let the handler finish although no one waits, and keep its X-Webhook-Id claimed until then. If you cancel it, release the id after it has stopped.",
    // It makes the handler slow, if it can.
    runsAlone: true,
    async atUrl(context, url) {
      const deliveries = await Promise.all(HANG_UP_AFTER_MS.map(() => context.deliver()));
      await each(HANG_UP_AFTER_MS, (afterMs, at) => hangUp(context, url, deliveries[at], afterMs));
      for (const delivery of deliveries) await expectHandledWhenSentAgain(context, delivery);
      if (context.settings.whileSlow === undefined) return;
      const slow = await context.deliver();
      await whileHandler(context, "whileSlow", async () => {
        await hangUp(context, url, slow, MEANWHILE_MS);
        // A server notices a closed connection a little later.
        await wait(MEANWHILE_MS);
        return [await sendAgain(context, slow)];
      });
      await expectHandledWhenSentAgain(context, slow);
    },
  },
};

async function hangUp(
  context: CaseContext,
  url: URL,
  delivery: Delivery | undefined,
  afterMs: number,
): Promise<void> {
  if (delivery === undefined) return;
  const connection = new KeptConnection(url, context.settings);
  await context.sendBy(delivery, () => connection.sendAndHangUp(delivery, afterMs));
  connection.close();
}

async function expectHandledWhenSentAgain(context: CaseContext, delivery: Delivery): Promise<void> {
  const answer = await sendUntilAcknowledged(context, () => sendAgain(context, delivery));
  await expectAccepted(context, "a retry after the sender hung up", delivery.id, answer);
}
