// The function of test/adapters/aws-lambda-freeze.slow.test.ts. Its handlers write what they do into Redis. What the
// first run of a delivery does is written in the text of the alarm.
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { lambdaHandler } from "../../../adapters/aws-lambda/index.js";
import { createWebhookReceiver, type DeliveryContext } from "../../../src/index.js";
import { redisStore } from "../../../src/stores/redis/index.js";

/** One line of the ledger in Redis. */
export interface LedgerEntry {
  readonly id: string;
  /** Number of the run among those of its delivery, from 1. */
  readonly run: number;
  readonly what: "began" | "effect" | "failed";
  readonly takeover: boolean;
}

const { REDIS_PORT, GATEWAY_WEBHOOK_SECRET, LEASE_MS, SLOW_MS, OVERLONG_MS } = process.env;
const client = new Redis(Number(REDIS_PORT));
client.on("error", () => undefined);

async function run(text: string, { id, signal, takeover }: DeliveryContext): Promise<void> {
  const number = await client.incr(`runs:${id}`);
  const write = async (what: LedgerEntry["what"]) => {
    const entry: LedgerEntry = { id, run: number, what, takeover };
    await client.rpush("ledger", JSON.stringify(entry));
  };
  const kind = number === 1 ? text : "quick";
  await write("began");
  if (kind === "failing") {
    await write("failed");
    throw new Error("no database");
  }
  if (kind === "slow") await wait(Number(SLOW_MS));
  // If its signal did not abort, it would go on in a process that was thawed.
  if (kind === "overlong") await wait(Number(OVERLONG_MS), undefined, { signal });
  signal.throwIfAborted();
  await write("effect");
  // Blocks the process, so that only Lambda can end it.
  if (kind === "stuck") for (;;);
}

const receiver = createWebhookReceiver({
  secret: GATEWAY_WEBHOOK_SECRET,
  store: redisStore({ client }),
  leaseMs: Number(LEASE_MS),
  handlers: { new_alarm: (alarm, context) => run(alarm.text, context) },
});

export const handler = lambdaHandler(receiver, { marginMs: 500 });
