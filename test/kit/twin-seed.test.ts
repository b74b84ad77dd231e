import { describe, expect, test } from "vitest";
import { createRandom } from "../../kit/random.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { twinEndpoint } from "../support/testing/twin-endpoint.js";

const secret = TEST_SECRET;
const events = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ alarm: alarm({ id }) }));

describe("a seed", () => {
  const runWith = async (seed: number, concurrency: number) => {
    const clock = createVirtualClock();
    const endpoint = twinEndpoint(clock.now, async ({ headers }) => {
      const id = headers.get("x-webhook-id") ?? "";
      // Depends only on the id and the time, not on deliveries that run beside it.
      const random = createRandom(Number.parseInt(id.slice(0, 8), 16) ^ clock.now());
      await clock.sleep(random.below(5_000));
      return random.chance(3) ? 503 : 200;
    });
    const faults = { duplicateRate: 0.2, networkErrorRate: 0.2, lostAnswerRate: 0.1 };
    const retry = { jitter: 0.5 };
    const options = { target: endpoint.target, secret, clock, seed, faults, retry };
    const report = await createGatewayTwin(options).deliverMany(events(200), { concurrency });
    expect(report.seed).toBe(seed);
    return report;
  };

  test("a seed repeats a run, ids and times included", async () => {
    const report = await runWith(11, 20);
    expect(await runWith(11, 20)).toEqual(report);
    expect(await runWith(12, 20)).not.toEqual(report);
  });

  test("the faults of a delivery depend on the seed, not on deliveries that run beside it", async () => {
    const faultsOf = async (concurrency: number) =>
      (await runWith(11, concurrency)).deliveries.map(({ id, attempts }) => [
        id,
        attempts[0]?.fault,
      ]);
    expect(await faultsOf(1)).toEqual(await faultsOf(200));
  });

  test("each kind of fault is drawn independently of the others and of jitter", async () => {
    const lostWith = async (
      duplicateRate: number,
      concurrentDuplicateRate: number,
      jitter: number,
    ) => {
      const clock = createVirtualClock();
      const { target } = twinEndpoint(clock.now, () => 503);
      const faults = { duplicateRate, concurrentDuplicateRate, networkErrorRate: 0.5 };
      const twin = createGatewayTwin({ target, secret, clock, seed: 4, faults, retry: { jitter } });
      const { deliveries } = await twin.deliverMany(events(20));
      const attempts = deliveries.flatMap((delivery) => delivery.attempts);
      return attempts.filter(({ repeat }) => repeat === 0).map(({ fault }) => fault);
    };
    const lost = await lostWith(0, 0, 0);
    expect(new Set(lost)).toEqual(new Set(["request_lost", undefined]));
    expect(await lostWith(0.3, 0, 0)).toEqual(lost);
    expect(await lostWith(0, 0.3, 0)).toEqual(lost);
    expect(await lostWith(0, 0, 0.3)).toEqual(lost);
  });

  test("every delivery of a seed has its own UUID", async () => {
    const { deliveries } = await runWith(13, 200);
    const ids = deliveries.map(({ id }) => id);
    const uuid = /^7e57da7a-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(200);
  });
});
