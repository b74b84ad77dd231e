import type { ConformanceRule } from "./conformance-rule.js";
import { ensureAcceptsGenuine, ensureNotOfLimiter, expectAccepted } from "./expectations.js";
import { sendGenuine } from "./resending.js";
import { wrongSecret } from "./unverifiable-requests.js";

const FORGERIES = 100;
const AT_A_TIME = 20;

/** Forgeries must not shut the gateway out. It comes last, since a ban would spoil every other case. */
export const forgeryBanRule: ConformanceRule = {
  id: "ban_after_forgeries",
  level: "must",
  title: "genuine deliveries are still accepted after a hundred forgeries",
  why: "Your address may see the gateway and a forger behind the same proxy, and a wrong secret makes the gateway itself look like a forger. A ban loses every alarm while it lasts.",
  fix: "Do not ban a sender for bad signatures. To limit the rate, answer 429 or 503 with Retry-After, and only for seconds.",
  async check(context) {
    await ensureAcceptsGenuine(context);
    let refused: string | undefined;
    for (let sent = 0; sent < FORGERIES; sent += AT_A_TIME) {
      const forgeries = await Promise.all(
        Array.from({ length: AT_A_TIME }, () => wrongSecret(context.deliver)),
      );
      // A limiter may answer some of them. It is the genuine delivery that counts.
      const answers = await Promise.all(forgeries.map(([, request]) => context.send(request)));
      const at = answers.findIndex(({ result }) => result !== "acknowledged");
      refused = forgeries[at]?.[1].id;
    }
    for (const type of context.settings.types) {
      const delivery = await context.deliver({ type });
      const answer = await sendGenuine(context, delivery);
      const name = `a genuine delivery after ${FORGERIES} forgeries`;
      ensureNotOfLimiter(context, name, answer);
      await expectAccepted(context, name, delivery.id, answer);
    }
    if (refused === undefined) return;
    const delivery = await context.deliver({ id: refused });
    const answer = await sendGenuine(context, delivery);
    await expectAccepted(context, "a genuine delivery with the id of a forgery", refused, answer);
  },
};
