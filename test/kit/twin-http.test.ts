import http from "node:http";
import https from "node:https";
import { describe, expect, onTestFinished, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type { CommonTwinOptions } from "../../kit/twin/twin-options.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { freePort } from "../support/free-port.js";
import { testCertificate } from "../support/servers.js";
import { startTwinServer } from "../support/testing/twin-server.js";
import { serving } from "../support/serving.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const secret = TEST_SECRET;
const event = { alarm: alarm() };
/** The schedule of 6 h 40 min in a third of a second. */
const SPEED = 72_000;

function twinTo(target: string, options: CommonTwinOptions = {}) {
  const twin = createGatewayTwin({
    target,
    secret,
    seed: 1,
    clock: createScaledClock(SPEED),
    ...options,
  });
  onTestFinished(twin.close);
  return twin;
}

describe("over HTTP, in scaled time", () => {
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

  test("a refused connection is a network error, and the delivery is sent again", async () => {
    const url = `http://127.0.0.1:${String(await freePort())}/`;
    const { end, status, attempts } = await twinTo(url).deliver(event);
    expect(end).toBe("exhausted");
    expect(status).toBeUndefined();
    expect(attempts).toHaveLength(10);
    expect(new Set(attempts.map(({ result }) => result))).toEqual(new Set(["network_error"]));
    expect(attempts[0]?.error).toContain("ECONNREFUSED");
  });

  test("a server that never answers is a time-out, and the delivery is sent again", async () => {
    const { url, idle } = await startTwinServer((_req, res, count) => {
      if (count > 0) res.end("{}");
    });
    const twin = twinTo(url, { timeoutMs: 500 });
    const { end, attempts } = await twin.deliver(event);
    expect(end).toBe("acknowledged");
    // A slow machine may cause more than one time-out.
    expect(new Set(attempts.slice(0, -1).map(({ result }) => result))).toEqual(
      new Set(["timeout"]),
    );
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
    const secure = https.createServer(testCertificate, (_req, res) => res.end());
    const target = (await serving(secure)).replace("http", "https");
    const deliver = async (skipSslVerification: boolean) => {
      const retry = { attempts: 1 };
      const twin = createGatewayTwin({ target, secret, retry, skipSslVerification });
      onTestFinished(twin.close);
      return (await twin.deliver(event)).end;
    };
    expect(await deliver(false)).toBe("exhausted");
    expect(await deliver(true)).toBe("acknowledged");
  });

  test("a virtual clock waits for real servers", async () => {
    const { url } = await startTwinServer((_req, res, count) => {
      setTimeout(() => res.writeHead(count < 9 ? 503 : 200).end(), 5);
    });
    const clock = createVirtualClock();
    const { end, attempts } = await twinTo(url, { clock, timeoutMs: 5_000 }).deliver(event);
    expect(end).toBe("acknowledged");
    expect(attempts.map(({ ms }) => ms)).toEqual(Array(10).fill(0));
    expect(clock.now() - 1_760_000_000_000).toBe(23_970_716);
  });
});

describe("concurrency", () => {
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
});
