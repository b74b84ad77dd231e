import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryStore, verifySignature } from "../../src/index.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { twinEndpoint, resultByContract } from "../support/testing/twin-endpoint.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const HOUR_MS = 3_600_000;
const secret = TEST_SECRET;
const event = { alarm: alarm() };
/** The gaps: 10 s times 2.48 to the power of 0 to 8, in milliseconds. */
const GAPS = [10_000, 24_800, 61_504, 152_530, 378_274, 938_120, 2_326_538, 5_769_813, 14_309_137];

function twinWith(
  statusOf: Parameters<typeof twinEndpoint>[1],
  options: Partial<Parameters<typeof createGatewayTwin>[0]> = {},
) {
  const clock = createVirtualClock();
  const endpoint = twinEndpoint(clock.now, statusOf);
  const twin = createGatewayTwin({ target: endpoint.target, secret, clock, seed: 1, ...options });
  return { clock, endpoint, twin, startedAt: clock.now() };
}

describe("the schedule", () => {
  test("the schedule has ten attempts, with gaps from 10 s to just under 4 h", async () => {
    const { twin, endpoint, startedAt } = twinWith(() => 503);
    const delivery = await twin.deliver(event);

    expect(delivery).toMatchObject({ end: "exhausted", status: 503 });
    expect(delivery.reason).toBe("answered 503 at attempt 10, which was the last");
    expect(delivery.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(delivery.attempts.map(({ waitedMs }) => waitedMs)).toEqual([0, ...GAPS]);
    let at = startedAt;
    const times = [0, ...GAPS].map((gap) => (at += gap));
    expect(endpoint.arrivals.map((arrival) => arrival.at)).toEqual(times);
    expect(delivery.attempts.map((attempt) => attempt.at.getTime())).toEqual(times);
  });

  test("the schedule spans 36 hours if every gap is 4 h", async () => {
    const retry = { firstDelayMs: 4 * HOUR_MS };
    const { twin, clock, startedAt } = twinWith(() => 503, { retry });
    expect((await twin.deliver(event)).end).toBe("exhausted");
    // The time-outs of answered requests do not move the clock.
    for (let count = 0; count < 5; count++) await turn();
    expect(clock.now() - startedAt).toBe(36 * HOUR_MS);
  });

  test("gaps stop growing at the longest gap", async () => {
    const retry = { factor: 100, attempts: 4 };
    const { twin } = twinWith(() => 503, { retry });
    const { attempts } = await twin.deliver(event);
    expect(attempts.map(({ waitedMs }) => waitedMs)).toEqual([0, 10_000, 1_000_000, 14_400_000]);
  });

  test("jitter shifts gaps both ways, within its share", async () => {
    const { twin } = twinWith(() => 503, { retry: { jitter: 0.25 } });
    const shares: number[] = [];
    for (let run = 0; run < 20; run++) {
      const { attempts } = await twin.deliver(event);
      attempts.slice(1).forEach(({ waitedMs }, at) => shares.push(waitedMs / (GAPS[at] ?? 0)));
    }
    expect(shares).toHaveLength(180);
    expect(Math.min(...shares)).toBeGreaterThan(0.7499);
    expect(Math.min(...shares)).toBeLessThan(0.8);
    expect(Math.max(...shares)).toBeLessThan(1.2501);
    expect(Math.max(...shares)).toBeGreaterThan(1.2);
  });

  test("the twin ignores Retry-After, which the gateway is not documented to obey", async () => {
    const clock = createVirtualClock();
    let requests = 0;
    const target = () =>
      requests++ === 0
        ? new Response(null, { status: 503, headers: { "retry-after": "3600" } })
        : new Response();
    const { attempts } = await createGatewayTwin({ target, secret, clock }).deliver(event);
    expect(attempts.map(({ waitedMs }) => waitedMs)).toEqual([0, 10_000]);
  });
});

describe("an endpoint", () => {
  test("an endpoint that is down for 6 hours gets every delivery", async () => {
    const clock = createVirtualClock();
    const upAt = clock.now() + 6 * HOUR_MS;
    const handled: string[] = [];
    const handler = ({ id }: { id: string }) => {
      if (clock.now() < upAt) throw new Error("the database is down");
      handled.push(id);
    };
    const store = memoryStore({ now: clock.now });
    const receiver = alarmReceiver(handler, { now: clock.now, store });
    const twin = createGatewayTwin({ target: receiver, secret, clock, retry: { factor: 2.48 } });
    const report = await twin.deliverMany(Array.from({ length: 500 }, () => event));

    expect(report).toMatchObject({ acknowledged: 500, lost: [], requests: 5_000 });
    expect(report.deliveries.every(({ attempts }) => attempts.length === 10)).toBe(true);
    expect(new Set(handled).size).toBe(500);
    expect(handled).toHaveLength(500);
  });

  test("an endpoint that answers 401 once loses that delivery, and the report names it", async () => {
    const { twin } = twinWith((_arrival, count) => (count === 3 ? 401 : 200));
    const report = await twin.deliverMany(Array.from({ length: 10 }, () => event));

    expect(report).toMatchObject({ acknowledged: 9, givenUp: 1, exhausted: 0, requests: 10 });
    const [lost] = report.lost;
    expect(report.lost).toHaveLength(1);
    expect(lost).toBe(report.deliveries[3]);
    expect(lost).toMatchObject({ end: "given_up", status: 401, type: "new_alarm" });
    expect(lost?.reason).toBe("answered 401 at attempt 1: this status stops the gateway's retries");
  });

  test("a delivery ends after the statuses that the contract names", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 200, max: 599 }), { minLength: 10, maxLength: 10 }),
        fc.constantFrom("retry" as const, "give_up" as const),
        async (drawn, unlistedStatus) => {
          // Mostly retryable statuses, or hardly a run would get past its second attempt.
          const statuses = drawn.map((status, at) => (at % 3 === 2 ? status : 500 + (at % 2) * 3));
          const goesOn = (status: number) =>
            resultByContract(status) === "retryable" ||
            (resultByContract(status) === "unlisted" && unlistedStatus === "retry");
          const stop = statuses.findIndex((status) => !goesOn(status));
          const expected = stop === -1 ? statuses : statuses.slice(0, stop + 1);

          const { twin } = twinWith((_arrival, count) => statuses[count] ?? 0, { unlistedStatus });
          const { end, status, attempts } = await twin.deliver(event);
          expect(attempts.map((attempt) => attempt.status)).toEqual(expected);
          expect(attempts.map(({ result }) => result)).toEqual(expected.map(resultByContract));
          expect(status).toBe(expected.at(-1));
          const isAcknowledged = resultByContract(status ?? 0) === "acknowledged";
          expect(end).toBe(
            stop === -1 ? "exhausted" : isAcknowledged ? "acknowledged" : "given_up",
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  test.each([302, 405, 410, 413, 415, 501])(
    "the unlisted status %i ends a delivery unless unlistedStatus is retry",
    async (status) => {
      const giving = await twinWith(() => status).twin.deliver(event);
      expect(giving).toMatchObject({
        end: "given_up",
        status,
        attempts: [{ result: "unlisted" }],
      });
      expect(giving.reason).toContain("does not mention this status");
      const retrying = twinWith(() => status, { unlistedStatus: "retry" });
      expect(await retrying.twin.deliver(event)).toMatchObject({ end: "exhausted", status });
    },
  );
});

describe("the timestamp", () => {
  test("each attempt has its own timestamp and signature", async () => {
    const { twin, endpoint } = twinWith(() => 503);
    await twin.deliver(event);
    const signatures = new Set<string | null>();
    for (const { at, headers, body } of endpoint.arrivals) {
      expect(headers.get("x-webhook-timestamp")).toBe(String(Math.floor(at / 1000)));
      expect(await verifySignature({ secret, headers, body })).toBe(true);
      signatures.add(headers.get("x-webhook-signature"));
    }
    expect(signatures.size).toBe(10);
    const ids = endpoint.arrivals.map(({ headers }) => headers.get("x-webhook-id"));
    expect(new Set(ids).size).toBe(1);
  });

  test("with refreshTimestamp false late attempts repeat the first timestamp and are stale", async () => {
    const clock = createVirtualClock();
    const downUntil = clock.now() + 400_000;
    const handler = () => {
      if (clock.now() < downUntil) throw new Error("down");
    };
    const receiver = alarmReceiver(handler, { now: clock.now });
    const deliver = (refreshTimestamp: boolean) =>
      createGatewayTwin({ target: receiver, secret, clock, refreshTimestamp }).deliver(event);

    const frozen = await deliver(false);
    expect(frozen).toMatchObject({ end: "exhausted", status: 409 });
    // The fifth attempt comes after 249 s, the sixth is beyond the tolerance of 300 s.
    const outcomes = frozen.attempts.map(({ outcome }) => outcome);
    expect(outcomes).toEqual([
      ...Array<string>(5).fill("handler_failed"),
      ...Array<string>(5).fill("stale"),
    ]);
    expect(await deliver(true)).toMatchObject({ end: "acknowledged", status: 200 });
  });

  test("with refreshTimestamp false the last attempt is accepted if the tolerance is raised", async () => {
    const clock = createVirtualClock();
    const runs: number[] = [];
    const handler = () => {
      runs.push(clock.now());
      if (runs.length < 10) throw new Error("down");
    };
    const tolerance = { timestampToleranceMs: 7 * 86_400_000 };
    const receiver = alarmReceiver(handler, { now: clock.now, ...tolerance });
    const twin = createGatewayTwin({ target: receiver, secret, clock, refreshTimestamp: false });
    expect(await twin.deliver(event)).toMatchObject({ end: "acknowledged", status: 200 });
    expect(runs).toHaveLength(10);
    expect(Number(runs[9]) - Number(runs[0])).toBeGreaterThan(6 * 3_600_000);
  });
});
