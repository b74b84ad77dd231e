// The function of test/adapters/aws-lambda-freeze.slow.test.ts: a receiver behind our adapter, or behind the wrapper of
// Lambda that WRAPPER names. Its handlers write what they do into Redis. What the first run of a delivery does is
// written in the text of the alarm.
import { setTimeout as wait } from "node:timers/promises";
import awsLambda from "@fastify/aws-lambda";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";
import { Redis } from "ioredis";
import serverless from "serverless-http";
import { lambdaHandler } from "../../../adapters/aws-lambda/index.js";
import { expressHandler } from "../../../adapters/express.js";
import { fastifyPlugin } from "../../../adapters/fastify.js";
import { honoHandler } from "../../../adapters/hono.js";
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

const { REDIS_PORT, GATEWAY_WEBHOOK_SECRET, LEASE_MS, SLOW_MS, OVERLONG_MS, WRAPPER } = process.env;
const PATH = "/webhooks/gateway";
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
  if (kind === "slow" || kind === "heedless") await wait(Number(SLOW_MS));
  // If its signal did not abort, it would go on in a process that was thawed.
  if (kind === "overlong") await wait(Number(OVERLONG_MS), undefined, { signal });
  if (kind !== "heedless") signal.throwIfAborted();
  await write("effect");
  // Blocks the process, so that only Lambda can end it.
  if (kind === "stuck") for (;;);
}

const receiver = createWebhookReceiver({
  secret: GATEWAY_WEBHOOK_SECRET,
  store: redisStore({ client }),
  leaseMs: Number(LEASE_MS),
  ...(WRAPPER === undefined ? {} : { handlerTimeoutMs: 100 }),
  handlers: { new_alarm: (alarm, context) => run(alarm.text, context) },
});

const HANDLERS: Readonly<Record<string, () => unknown>> = {
  none: () => lambdaHandler(receiver, { marginMs: 500 }),
  hono() {
    const app = new Hono();
    app.all(PATH, honoHandler(receiver));
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- what Hono 4 ships
    return handle(app);
  },
  fastify() {
    const app = fastify();
    const wrapped = awsLambda(app);
    void app.register(fastifyPlugin, { receiver, path: PATH });
    return wrapped;
  },
  express: () => serverless(express().all(PATH, expressHandler(receiver))),
};

export const handler = HANDLERS[WRAPPER ?? "none"]?.();
