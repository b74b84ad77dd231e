// A process of its own: V8 counts the calls of a whole process. Prints what one warm delivery through Express, and
// one warm claim of `postgresStore`, call of src/ and adapters/.
import { once } from "node:events";
import http from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import express from "express";
import { expressHandler } from "../../../adapters/express.js";
import { createWebhookReceiver } from "../../../src/receiver.js";
import { signDelivery } from "../../../src/signature/sign-delivery.js";
import { postgresStore } from "../../../src/stores/postgres/index.js";

const ROOT = new URL("../../../", import.meta.url).href;
const OWN = /^(?:src|adapters)\//;
/** Enough for every constant, cache and lazily made object to be there. */
const WARM_UPS = 20;

/** The functions of each file that `work` calls, in V8's names; a function that has none is named by its offset. */
async function calledBy(work: () => Promise<void>): Promise<Record<string, string[]>> {
  const session = new Session();
  session.connect();
  for (let at = 0; at < WARM_UPS; at += 1) await work();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return Object.fromEntries(
    result
      .map(({ url, functions }): [string, string[]] => [
        url.replace(ROOT, "").replace(/\?.*$/, ""),
        functions
          .filter(({ ranges: [range] }) => (range?.count ?? 0) > 0)
          // `__name` is of the compiler, and names in angle brackets are V8's: fields of a class.
          .filter(({ functionName }) => !/^(?:__name|<.*)$/.test(functionName))
          .map(({ functionName, ranges: [range] }) =>
            functionName === "" ? `at ${String(range?.startOffset)}` : functionName,
          ),
      ])
      .filter(([file, functions]) => OWN.test(file) && functions.length > 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** One alarm, by keep-alive, to a handler that awaits. */
async function oneDelivery(): Promise<Record<string, string[]>> {
  const secret = "whsec_0f1e2d3c4b5a69788796a5b4c3d2e1f0";
  const receiver = createWebhookReceiver({
    secret,
    logger: false,
    handlers: { new_alarm: () => new Promise((resolve) => setTimeout(resolve, 1)) },
  });
  const app = express();
  app.all("/webhooks/gateway", expressHandler(receiver));
  const server = http.createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new http.Agent({ keepAlive: true });
  const body = JSON.stringify({
    alarm: {
      id: 1,
      text: "text",
      account_id: 2,
      severity: "High",
      status: "NEW",
      source: "BreachDb",
      event_type: "email_hacked",
      category_id: 3,
      original_event_id: "4",
      payload: "{}",
      date: "2026-07-08 10:00:00",
      checked_at: "2026-07-08 10:00:00",
      created_at: "2026-07-08 10:00:00",
      updated_at: "2026-07-08 10:00:00",
    },
  });
  const timestamp = Math.floor(Date.now() / 1000);
  const ids = Array.from({ length: WARM_UPS + 1 }, (_, at) => `walk-${String(at)}`);
  const signed = await Promise.all(
    ids.map(async (id) => ({ id, signature: await signDelivery({ secret, id, timestamp, body }) })),
  );
  const called = await calledBy(async () => {
    const { id = "", signature = "" } = signed.pop() ?? {};
    const request = http.request({
      host: "127.0.0.1",
      port,
      path: "/webhooks/gateway",
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "x-webhook-id": id,
        "x-webhook-type": "new_alarm",
        "x-webhook-timestamp": String(timestamp),
        "x-webhook-signature": signature,
      },
    });
    request.end(body);
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    const chunks: unknown[] = await response.toArray();
    const answer = Buffer.concat(chunks as Buffer[]).toString();
    if (answer !== '{"outcome":"handled"}') throw new Error(`unexpected answer: ${answer}`);
  });
  agent.destroy();
  server.close();
  return called;
}

/** One claim, by a pool whose server grants it. */
function oneClaim(): Promise<Record<string, string[]>> {
  const row = { key: "walk", state: "claimed" };
  const result = { rows: [row], rowCount: 1, command: "INSERT" };
  const client = {
    query: (text: string) => Promise.resolve(text.startsWith("SET") ? [result, result] : result),
    release: () => undefined,
    on: () => undefined,
    off: () => undefined,
    getTransactionStatus: () => "I",
  };
  const pool = { totalCount: 1, connect: () => Promise.resolve(client), query: client.query };
  const store = postgresStore({ pool: pool as never });
  return calledBy(async () => {
    const options = { leaseMs: 30_000, retentionMs: 86_400_000 };
    const claim = await store.claim("walk", "owner", options);
    if (claim.state !== "claimed") throw new Error(`unexpected claim: ${claim.state}`);
  });
}

process.stdout.write(JSON.stringify({ delivery: await oneDelivery(), claim: await oneClaim() }));
process.exit();
