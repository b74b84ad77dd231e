// A function of test/adapters/aws-lambda-freeze.slow.test.ts: an app of a framework in a wrapper of Lambda. The first
// run of each delivery takes longer than handlerTimeoutMs.
import awsLambda from "@fastify/aws-lambda";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";
import { Redis } from "ioredis";
import { setTimeout as wait } from "node:timers/promises";
import serverless from "serverless-http";
import { expressHandler } from "../../../adapters/express.js";
import { fastifyPlugin } from "../../../adapters/fastify.js";
import { honoHandler } from "../../../adapters/hono.js";
import { createWebhookReceiver, type DeliveryContext } from "../../../src/index.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import type { LedgerEntry } from "./frozen-ledger.js";

const { REDIS_PORT, GATEWAY_WEBHOOK_SECRET, LEASE_MS, SLOW_MS, WRAPPER = "" } = process.env;
const PATH = "/webhooks/gateway";
const client = new Redis(Number(REDIS_PORT));

async function run({ id, takeover }: DeliveryContext): Promise<void> {
  const number = await client.incr(`runs:${id}`);
  const write = async (what: LedgerEntry["what"]): Promise<void> => {
    const entry: LedgerEntry = { id, run: number, what, takeover };
    await client.rpush("ledger", JSON.stringify(entry));
  };
  await write("began");
  if (number === 1) await wait(Number(SLOW_MS));
  await write("effect");
}

const receiver = createWebhookReceiver({
  secret: GATEWAY_WEBHOOK_SECRET,
  store: redisStore({ client }),
  leaseMs: Number(LEASE_MS),
  handlerTimeoutMs: 100,
  handlers: { new_alarm: (_alarm, context) => run(context) },
});

const WRAPPERS: Readonly<Record<string, () => unknown>> = {
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

export const handler = WRAPPERS[WRAPPER]?.();
