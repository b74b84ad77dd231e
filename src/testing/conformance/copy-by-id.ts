import { expectHandledOnce, sendTwice } from "./copies.js";
import { textOf } from "./request-changes.js";
import { sendGenuine } from "./send-genuine.js";
import type { Trial } from "./trial.js";

/** The same id in other bytes is a copy, and the same bytes under another id are none. */
export async function expectCopiesToldById(trial: Trial): Promise<void> {
  const delivery = await trial.deliver();
  const copy = await trial.deliver({ id: delivery.id, body: reordered(textOf(delivery)) });
  const replies = await sendTwice(trial, delivery, copy);

  const other = await trial.deliver({ body: delivery.body });
  // Sent twice, it would be a duplicate of itself.
  const reply = await sendGenuine(trial, other, () => trial.sendAlone(other));
  const name = "the same body under another id";
  if (reply.verdict !== "acknowledged") {
    throw trial.failure(`${name}: expected 2xx, got ${reply.text}`);
  }
  // Its effect is not asked for: a handler may do nothing for an alarm that it knows.
  if (reply.outcome === "duplicate") {
    throw trial.failure(`${name}: answered ${reply.text}, as a duplicate of the other`);
  }
  await expectHandledOnce(trial, delivery, replies);
}

/** The same JSON with its fields the other way round: what a receiver that writes it anew takes, too. */
function reordered(text: string): string {
  return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
    value instanceof Object && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).reverse())
      : value,
  );
}
