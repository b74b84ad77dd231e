import { describe, expect, onTestFinished, test } from "vitest";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import { Shutdown } from "../../kit/twin/shutdown.js";
import type { CommonTwinOptions } from "../../kit/twin/twin-options.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { deferred } from "../support/deferred.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { startTwinServer } from "../support/testing/twin-server.js";

const secret = TEST_SECRET;
const event = { alarm: alarm() };

/** A twin in real time, so a delivery that is not stopped would wait for hours. */
function twinTo(target: string, options: CommonTwinOptions = {}) {
  const retry = { firstDelayMs: 14_400_000 };
  const twin = createGatewayTwin({ target, secret, seed: 1, retry, ...options });
  onTestFinished(twin.close);
  return twin;
}

describe("stopping", () => {
  test("close ends a gap of hours and a request under way, and leaves no connection", async () => {
    const arrived = deferred();
    const { url, idle, requests } = await startTwinServer((_req, res, count) => {
      if (count === 0) res.writeHead(503).end();
      else arrived.resolve();
    });
    const twin = twinTo(url);
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
    const twin = twinTo(url, { signal: abort.signal });
    const report = await twin.deliverMany(Array(100).fill(event) as (typeof event)[], {
      concurrency: 1,
    });
    expect(report).toMatchObject({ acknowledged: 4, stopped: 1, lost: [], requests: 5 });
    expect(report.deliveries).toHaveLength(5);
    await idle();
    const aborted = twinTo(url, { signal: abort.signal });
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
});
