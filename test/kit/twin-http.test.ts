import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import { Shutdown } from "../../kit/twin/shutdown.js";
import type { CommonTwinOptions } from "../../kit/twin/twin-options.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { serving, servingTls } from "../support/serving.js";

const secret = TEST_SECRET;
const event = { alarm: alarm() };
/** The schedule of 6 h 40 min in a third of a second. */
const SPEED = 72_000;

function twinTo(target: string, options: CommonTwinOptions = {}) {
  const clock = createScaledClock(SPEED);
  const twin = createGatewayTwin({ target, secret, seed: 1, clock, ...options });
  onTestFinished(twin.close);
  return twin;
}

/** A real server for a twin, which closes at the end of its test. `answer` is called when the whole body has arrived. */
async function startTwinServer(
  answer: (req: IncomingMessage, res: ServerResponse, count: number) => void,
) {
  let requests = 0;
  const open = new Set<object>();
  const server = http.createServer((req, res) => {
    req.on("error", () => undefined);
    req.resume().on("end", () => answer(req, res, requests++));
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      if (open.size === 0) server.emit("idle");
    });
  });
  return {
    url: `${await serving(server)}webhooks`,
    /** How many requests have arrived. */
    requests: () => requests,
    /** Resolves when no connection is open. */
    idle: async () => {
      if (open.size > 0) await once(server, "idle");
    },
  };
}

test("a real receiver that fails at first gets the delivery, with a new timestamp at each attempt", async () => {
  const handled: string[] = [];
  let runs = 0;
  const handler = ({ id }: { id: string }) => {
    if (++runs < 9) throw new Error("not yet");
    handled.push(id);
  };
  const receiver = alarmReceiver(handler, { now: Date.now });
  const twin = twinTo(await serving(http.createServer(nodeHandler(receiver))));
  const startedAt = performance.now();
  const { id, end, attempts } = await twin.deliver(event);
  const tookMs = performance.now() - startedAt;

  expect(end).toBe("acknowledged");
  expect(attempts.map(({ outcome }) => outcome)).toEqual([
    ...Array<string>(8).fill("handler_failed"),
    "handled",
  ]);
  expect(handled).toEqual([id]);
  const waitedMs = attempts.reduce((sum, attempt) => sum + attempt.waitedMs, 0);
  expect(waitedMs).toBeGreaterThan(9_600_000);
  expect(tookMs).toBeGreaterThan(0.9 * (waitedMs / SPEED));
  expect(attempts.every(({ ms }) => ms > 0 && ms < 5_000)).toBe(true);
  await twin.close();
});

test("a server that never answers is a time-out, and the delivery is sent again", async () => {
  const { url, idle } = await startTwinServer((_req, res, count) => {
    if (count > 0) res.end("{}");
  });
  const twin = twinTo(url, { timeoutMs: 500 });
  const { end, attempts } = await twin.deliver(event);
  expect(end).toBe("acknowledged");
  // A slow machine may cause more than one time-out.
  expect(new Set(attempts.slice(0, -1).map(({ result }) => result))).toEqual(new Set(["timeout"]));
  expect(attempts[0]).toMatchObject({ error: "no answer within 500 ms" });
  expect(attempts[0]?.ms).toBeGreaterThan(495);
  await twin.close();
  await idle();
});

test("a connection that is reset before or during the answer is a network error", async () => {
  const { url } = await startTwinServer((req, res, count) => {
    if (count === 0) req.socket.resetAndDestroy();
    else if (count === 1) res.writeHead(200, { "content-length": "10" }).write("{");
    else res.end();
    if (count === 1) req.socket.resetAndDestroy();
  });
  const { end, attempts } = await twinTo(url).deliver(event);
  expect(end).toBe("acknowledged");
  expect(attempts.map(({ result }) => result)).toEqual([
    "network_error",
    "network_error",
    "acknowledged",
  ]);
});

test("the twin does not follow a redirect", async () => {
  const { url, requests } = await startTwinServer((_req, res) => {
    res.writeHead(307, { location: "/elsewhere" }).end();
  });
  const delivery = await twinTo(url).deliver(event);
  expect(delivery).toMatchObject({ end: "given_up", status: 307 });
  expect(delivery.attempts[0]?.result).toBe("unlisted");
  expect(requests()).toBe(1);
});

test("a self-signed certificate is refused unless skipSslVerification is set", async () => {
  const target = await servingTls((_req, res) => res.end());
  const deliver = async (skipSslVerification: boolean) => {
    const retry = { attempts: 1 };
    const twin = createGatewayTwin({ target, secret, retry, skipSslVerification });
    onTestFinished(twin.close);
    return (await twin.deliver(event)).end;
  };
  expect(await deliver(false)).toBe("exhausted");
  expect(await deliver(true)).toBe("acknowledged");
});

test("concurrency limits the attempts under way, and waiting deliveries do not count", async () => {
  let [running, most] = [0, 0];
  const { url } = await startTwinServer((_req, res, count) => {
    most = Math.max(most, ++running);
    setTimeout(() => {
      running--;
      res.writeHead(count < 30 ? 503 : 200).end();
    }, 2);
  });
  const clock = createVirtualClock();
  const twin = twinTo(url, { clock });
  const events = Array(30).fill(event) as (typeof event)[];
  const report = await twin.deliverMany(events, { concurrency: 3 });
  expect(report).toMatchObject({ acknowledged: 30, requests: 60 });
  expect(most).toBe(3);
  // All first attempts come before any second one: the gaps overlap.
  expect(clock.now() - 1_760_000_000_000).toBe(10_000);
});

/** A delivery that is not stopped would wait for hours. */
const inRealTime = { clock: createScaledClock(), retry: { firstDelayMs: 14_400_000 } };

test("close ends a gap of hours and a request under way, and leaves no connection", async () => {
  const arrived = deferred();
  const { url, idle, requests } = await startTwinServer((_req, res, count) => {
    if (count === 0) res.writeHead(503).end();
    else arrived.resolve();
  });
  const twin = twinTo(url, inRealTime);
  const waiting = twin.deliver(event);
  await expect.poll(() => twin.history().length).toBe(1);
  const underWay = twin.deliver(event);
  await arrived.promise;
  await twin.close();

  const [waited, cutOff] = await Promise.all([waiting, underWay]);
  expect([waited.end, cutOff.end]).toEqual(["stopped", "stopped"]);
  expect(waited.reason).toBe("answered 503 at attempt 1, then stopped");
  expect(cutOff.attempts.map(({ result }) => result)).toEqual(["network_error"]);
  await idle();
  expect(requests()).toBe(2);
  const late = await twin.deliver(event);
  expect(late).toMatchObject({
    end: "stopped",
    attempts: [],
    reason: "stopped before the first attempt",
  });
  await idle();
});

test("after an aborted signal the report has the deliveries that were started", async () => {
  const abort = new AbortController();
  const { url, idle } = await startTwinServer((_req, res, count) => {
    if (count === 4) abort.abort();
    else res.end();
  });
  const twin = twinTo(url, { ...inRealTime, signal: abort.signal });
  const report = await twin.deliverMany(Array(100).fill(event) as (typeof event)[], {
    concurrency: 1,
  });
  expect(report).toMatchObject({ acknowledged: 4, stopped: 1, lost: [], requests: 5 });
  expect(report.deliveries).toHaveLength(5);
  await idle();
  const aborted = twinTo(url, { ...inRealTime, signal: abort.signal });
  expect(await aborted.deliver(event)).toMatchObject({ end: "stopped", attempts: [] });
});

test("close waits for a handler in this process", async () => {
  const clock = createVirtualClock();
  const [arrived, release] = [deferred(), deferred()];
  let hasEnded = false;
  const target = async () => {
    arrived.resolve();
    await release.promise;
    hasEnded = true;
    return new Response();
  };
  const twin = createGatewayTwin({ target, secret, clock });
  const delivery = twin.deliver(event);
  await arrived.promise;
  const closed = twin.close().then(() => hasEnded);
  release.resolve();
  expect(await closed).toBe(true);
  expect((await delivery).end).toBe("acknowledged");
  const unsent = createGatewayTwin({ target, secret, clock });
  const stopped = unsent.deliver(event);
  await unsent.close();
  expect(await stopped).toMatchObject({ end: "stopped", attempts: [] });
});

test("a pause that starts after close ends at once", async () => {
  const shutdown = new Shutdown(createScaledClock(), undefined, () => undefined);
  await shutdown.close();
  await shutdown.pause(14_400_000);
  expect(shutdown.isStopped).toBe(true);
});

test("a delivery that is stopped during its last attempt is not exhausted", async () => {
  const clock = createVirtualClock();
  const abort = new AbortController();
  const target = () => {
    abort.abort();
    return new Response(null, { status: 503 });
  };
  const retry = { attempts: 1 };
  const twin = createGatewayTwin({ target, secret, clock, retry, signal: abort.signal });
  expect((await twin.deliver(event, { times: 3 })).end).toBe("stopped");
  expect(twin.history()).toHaveLength(1);
});
