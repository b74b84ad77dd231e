// Takes one delivery, twice, through the receiver beside it, and prints what came of it as JSON: { outcomes, runs }, or
// { refused, message } for a peer that the package refuses.
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
import { inbox, inboxConsume } from "identity-gateway-webhooks/inbox";
import {
  sampleAlarm,
  signedDelivery,
  TEST_SECRET as secret,
} from "identity-gateway-webhooks/testing";

const { RUN, PORT, ENGINE } = process.env;
const PATH = "/webhooks/gateway";

const runs = [];
const handlers = { new_alarm: (_alarm, { id }) => void runs.push(id) };

/** The receiver, or its URL. */
async function targetOf({ mount, serve, openStore, openQueue, telemetry }) {
  const options = { secret, handlers, logger: false };
  if (openStore !== undefined) options.store = await openStore(JSON.parse(ENGINE), RUN);
  if (telemetry !== undefined) options.telemetry = telemetry;
  if (openQueue !== undefined) {
    const driver = await openQueue(JSON.parse(ENGINE), RUN);
    inboxConsume({ driver, store: memoryStore(), handlers });
    Object.assign(options, { handlers: inbox({ driver }), maxBodyBytes: 100_000 });
  }
  if (serve !== undefined) await serve(options, PATH, Number(PORT));
  else if (mount === undefined) return createWebhookReceiver(options);
  else {
    const listener = await mount(createWebhookReceiver(options), PATH);
    await once(createServer(listener).listen(Number(PORT), "127.0.0.1"), "listening");
  }
  return `http://127.0.0.1:${PORT}${PATH}`;
}

async function outcomeOf(target, request) {
  if (typeof target !== "string") return (await target.receive(request)).outcome;
  const answer = await fetch(target, { method: "POST", ...request });
  return (await answer.json()).outcome;
}

async function prove() {
  try {
    const receiver = await import("./receiver.mjs");
    const target = await targetOf(receiver);
    const request = await signedDelivery({ secret, alarm: sampleAlarm() });
    const outcomes = [await outcomeOf(target, request), await outcomeOf(target, request)];
    for (let waits = 0; runs.length === 0 && waits < 200; waits++) await wait(100);
    return { outcomes, runs: receiver.proven?.() === false ? 0 : runs.length };
  } catch (error) {
    return { refused: error.code, message: String(error.stack) };
  }
}

console.log(JSON.stringify(await prove()));
// Servers and connections are still open.
process.exit();
