// A process of its own: V8 counts the calls of a whole process. Prints what one warm delivery through Express, and
// one warm claim of `postgresStore`, call of src/ and adapters/.
import http from "node:http";
import { Session } from "node:inspector/promises";
import express from "express";
import { expressHandler } from "../../../adapters/express.js";
import { linesOf } from "../../../kit/sending/wire.js";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { http1Client } from "../adapters/http-clients.js";
import { alarmReceiver } from "../alarm-receiver.js";
import { delivery } from "../deliveries.js";
import { listen } from "../servers.js";

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
  const handler = () => new Promise((resolve) => setTimeout(resolve, 1));
  const app = express();
  app.all("/", expressHandler(alarmReceiver(handler, { now: Date.now })));
  const { port, close } = await listen(http.createServer(app));
  const client = http1Client(port);
  const timestamp = Math.floor(Date.now() / 1000);
  const ids = Array.from({ length: WARM_UPS + 1 }, (_, at) => `walk-${String(at)}`);
  const requests = await Promise.all(ids.map((id) => delivery({ id, timestamp })));
  const called = await calledBy(async () => {
    const { method, headers = {}, body = "" } = requests.pop() ?? {};
    const sent = { method: method ?? "", headers: linesOf(headers), body: Buffer.from(body) };
    const answer = await client.send(sent);
    if (answer.body !== '{"outcome":"handled"}') throw new Error(`unexpected: ${answer.body}`);
  });
  client.close();
  await close();
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
