import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { sampleOnlineDataEvent } from "../../kit/index.js";
import { createRandom } from "../../kit/random.js";
import type { AttemptResult } from "../../kit/twin/attempt-result.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type { TwinAttempt, TwinDelivery } from "../../kit/twin/twin-delivery.js";
import type { GatewayTwinOptions } from "../../kit/twin/twin-options.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import {
  ConfigurationError,
  createWebhookReceiver,
  verifySignature,
  type Alarm,
  type OnlineDataEvent,
} from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { alarm, alarmBody, onlineDataEvent, TEST_SECRET } from "../support/deliveries.js";
import { twinEndpoint } from "../support/testing/twin-endpoint.js";

/** What a status means by the gateway's document. Written down again, not taken from the kit. */
function resultByContract(status: number): AttemptResult {
  if (Math.floor(status / 100) === 2) return "acknowledged";
  if ([408, 409, 429, 500, 502, 503, 504].includes(status)) return "retryable";
  return [400, 401, 403, 404, 422].includes(status) ? "final" : "unlisted";
}

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
        expect(end).toBe(stop === -1 ? "exhausted" : isAcknowledged ? "acknowledged" : "given_up");
      },
    ),
    { numRuns: 200 },
  );
});

test("the reason of a delivery says that the contract does not mention its status", async () => {
  const delivery = await twinWith(() => 413).twin.deliver(event);
  expect(delivery).toMatchObject({ end: "given_up", attempts: [{ result: "unlisted" }] });
  expect(delivery.reason).toContain("does not mention this status");
});

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

const removed: OnlineDataEvent = {
  ...onlineDataEvent("DATA_DELETED"),
  type: "DATA_DELETED",
  site_id: 7,
  site_name: "Example Broker",
  site_base_url: "https://broker.example",
};

test("each active webhook of the type gets its own delivery, signed with its own secret", async () => {
  const clock = createVirtualClock();
  const alarms = twinEndpoint(clock.now, () => 200);
  const moreAlarms = twinEndpoint(clock.now, (_arrival, count) => (count === 0 ? 503 : 200));
  const events = twinEndpoint(clock.now, () => 401);
  const off = twinEndpoint(clock.now, () => 200);
  const twin = createGatewayTwin({
    clock,
    webhooks: [
      { title: "crm", target: alarms.target, type: "new_alarm", secret },
      { title: "mail", target: moreAlarms.target, type: "new_alarm", secret: "another" },
      { title: "off", target: off.target, type: "new_alarm", secret, isActive: false },
      { target: events.target, type: "delete_my_data_event" },
    ],
  });

  const delivered = await twin.deliver({ alarm: alarm() });
  expect(delivered.map(({ webhook, end }) => [webhook, end])).toEqual([
    ["crm", "acknowledged"],
    ["mail", "acknowledged"],
  ]);
  expect(new Set(delivered.map(({ id }) => id)).size).toBe(2);
  expect([alarms, moreAlarms, events, off].map((one) => one.arrivals.length)).toEqual([1, 2, 0, 0]);
  const [first] = alarms.arrivals;
  const [second] = moreAlarms.arrivals;
  expect(first && (await verifySignature({ secret, ...first }))).toBe(true);
  expect(second && (await verifySignature({ secret: "another", ...second }))).toBe(true);

  const { deliveries, lost } = await twin.deliverMany([{ event: removed }, { alarm: alarm() }]);
  expect(deliveries.map(({ webhook }) => webhook)).toEqual(["webhook 4", "crm", "mail"]);
  expect(lost.map(({ webhook, status }) => [webhook, status])).toEqual([["webhook 4", 401]]);
  expect(events.arrivals[0]?.headers.has("x-webhook-signature")).toBe(false);
  expect(twin.history()).toHaveLength(6);
  expect(twin.history().map(({ id }) => id)).toContain(lost[0]?.id);
});

test("the caller may set the id if one webhook receives the event", async () => {
  const clock = createVirtualClock();
  const { target } = twinEndpoint(clock.now, () => 200);
  const webhook = { target, type: "new_alarm", secret } as const;
  const deliverTo = (...webhooks: readonly (typeof webhook)[]) =>
    createGatewayTwin({ clock, webhooks }).deliver({ alarm: alarm() }, { id: "mine" });
  expect(await deliverTo(webhook)).toMatchObject([{ id: "mine", end: "acknowledged" }]);
  await expect(deliverTo(webhook, webhook)).rejects.toThrow("each delivery needs its own id");
});

test("a delivery is the documented request, for an alarm, an event and any body", async () => {
  const { twin, endpoint } = twinWith(() => 200);
  const { arrivals } = endpoint;
  const bytes = new Uint8Array([0x22, 0xff, 0x22]);
  await twin.deliver({ alarm: alarm() }, { id: "a-1" });
  await twin.deliver({ event: removed });
  await twin.deliver({ type: "new_type", body: "not JSON" });
  await twin.deliver({ type: "new_alarm", body: bytes });

  expect(arrivals.map(({ headers }) => headers.get("x-webhook-type"))).toEqual([
    "new_alarm",
    "delete_my_data_event",
    "new_type",
    "new_alarm",
  ]);
  expect(arrivals.map(({ body }) => body).slice(0, 3)).toEqual([
    alarmBody(),
    JSON.stringify({ event: removed }),
    "not JSON",
  ]);
  const [first] = arrivals;
  expect(first?.headers.get("x-webhook-id")).toBe("a-1");
  expect(first?.headers.get("content-type")).toBe("application/json");
  expect(first?.headers.get("x-webhook-timestamp")).toBe("1760000000");
});

test("observers see each attempt and delivery, and their errors are ignored", async () => {
  const attempts: TwinAttempt[] = [];
  const deliveries: TwinDelivery[] = [];
  const { twin } = twinWith((_arrival, count) => (count < 2 ? 503 : 200), {
    onAttempt: (attempt) => {
      attempts.push(attempt);
      throw new Error("no");
    },
    onDelivery: (delivery) => {
      deliveries.push(delivery);
      return Promise.reject(new Error("no"));
    },
  });
  const delivery = await twin.deliver({ alarm: alarm() });
  expect(delivery.reason).toBe("answered 200 at attempt 3, by whom is not known");
  expect(attempts).toEqual(delivery.attempts);
  expect(attempts).toEqual(twin.history());
  expect(deliveries).toEqual([delivery]);
  expect(JSON.stringify(delivery)).not.toContain("account_id");
});

const events = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ alarm: alarm({ id }) }));

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
    (await runWith(11, concurrency)).deliveries.map(({ id, attempts }) => [id, attempts[0]?.fault]);
  expect(await faultsOf(1)).toEqual(await faultsOf(200));
});

test("each kind of fault is drawn independently of the others and of jitter", async () => {
  const lostWith = async (duplicateRate = 0, concurrentDuplicateRate = 0, jitter = 0) => {
    const faults = { duplicateRate, concurrentDuplicateRate, networkErrorRate: 0.5 };
    const { twin } = twinWith(() => 503, { faults, retry: { jitter } });
    const { deliveries } = await twin.deliverMany(events(20));
    const attempts = deliveries.flatMap((delivery) => delivery.attempts);
    return attempts.filter(({ repeat }) => repeat === 0).map(({ fault }) => fault);
  };
  const lost = await lostWith();
  expect(new Set(lost)).toEqual(new Set(["request_lost", undefined]));
  expect(await lostWith(0.3)).toEqual(lost);
  expect(await lostWith(0, 0.3)).toEqual(lost);
  expect(await lostWith(0, 0, 0.3)).toEqual(lost);
});

test("every delivery of a seed has its own UUID", async () => {
  const { deliveries } = await runWith(13, 200);
  const ids = deliveries.map(({ id }) => id);
  const uuid = /^7e57da7a-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(200);
});

const target = () => new Response();
/** Takes either form of options through one variable. */
const twinOf = (options: GatewayTwinOptions) => createGatewayTwin(options);
const single = (options: object) => () => twinOf({ target, secret, ...options });
const several = (webhook: object) => () =>
  twinOf({ webhooks: [{ target, type: "new_alarm", ...webhook }] });

/** Invalid options, and what the error says about each. */
const REFUSED: readonly [what: string, make: () => unknown, message: string][] = [
  ["a misspelt option", single({ retries: {} }), "retries is no option"],
  ["both forms at once", single({ webhooks: [] }), "target is no option"],
  ["no secret", single({ secret: undefined }), "secret is not given"],
  ["an empty secret", single({ secret: "" }), "secret is empty"],
  ["a target with another scheme", single({ target: "ftp://example" }), "http or https URL"],
  ["a time-out of 0", single({ timeoutMs: 0 }), "timeoutMs must be"],
  ["a seed with a fraction", single({ seed: 0.5 }), "seed must be"],
  ["an unlisted status rule", single({ unlistedStatus: "drop" }), "unlistedStatus must be"],
  ["no attempts", single({ retry: { attempts: 0 } }), "attempts must be"],
  ["a shrinking gap", single({ retry: { factor: 0.9 } }), "factor must be"],
  ["a first gap over the longest", single({ retry: { maxDelayMs: 9_999 } }), "firstDelayMs must"],
  ["a misspelt retry option", single({ retry: { delay: 1 } }), "delay is no option"],
  ["a rate over 1", single({ faults: { duplicateRate: 2 } }), "duplicateRate must be"],
  ["a misspelt fault", single({ faults: { duplicates: 1 } }), "duplicates is no option"],
  ["an unknown type", several({ type: "alarm", secret: "s" }), "type of webhook 1 must be"],
  ["an unset secret", several({ secret: undefined }), "secret of webhook 1 is empty"],
  ["a misspelt field", several({ is_active: true }), "is_active is no option"],
  ["a speed below 1", () => createScaledClock(0.5), "speed must be"],
];

test.each(REFUSED)("the twin or its scaled clock refuses %s", (_what, make, message) => {
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test("a twin refuses an invalid event and invalid options of deliver", async () => {
  const twin = single({})();
  const reject = (event: object, options: object, message: string) =>
    expect(twin.deliver(event as { type: string; body: string }, options)).rejects.toThrow(message);
  const event = { type: "new_alarm", body: "{}" };
  await reject({}, {}, "{ alarm }, { event } or { type, body }");
  await reject({ type: "new_alarm", body: {} }, {}, "{ type, body }");
  const noEvents: unknown[] = [null, undefined, 5, { alarm: undefined }, { event: null }];
  for (const odd of [...noEvents, { alarm: "text" }, { alarm: { id: 5n } }]) {
    await reject(odd as object, {}, "the event must be");
    await expect(twin.deliverMany([odd as { alarm: Alarm }])).rejects.toThrow(ConfigurationError);
  }
  await reject(event, { id: "a:b" }, "id must be");
  await reject(event, { times: 0 }, "times must be");
  await reject(event, { parallel: true }, "parallel is no option");
  await expect(twin.deliverMany([event], { concurrency: 0 })).rejects.toThrow("concurrency must");
  expect(twin.history()).toEqual([]);
});

describe("an event that a newer one overtakes", () => {
  const at = (type: "DATA_DELETED" | "DATA_REAPPEARED", occurred_at: string) => ({
    event: sampleOnlineDataEvent(type, { site_id: 7, occurred_at }),
  });
  const deleted = at("DATA_DELETED", "2026-07-08T10:00:00Z");
  const back = at("DATA_REAPPEARED", "2026-07-09T10:00:00Z");

  /** The state that a handler keeps of the two events. */
  async function stateAfter(
    keep: (event: OnlineDataEvent, held?: OnlineDataEvent) => OnlineDataEvent,
  ) {
    let held: OnlineDataEvent | undefined;
    const clock = createVirtualClock();
    const target = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: { delete_my_data_event: (event) => void (held = keep(event, held)) },
      now: clock.now,
      logger: false,
    });
    const twin = createGatewayTwin({ target, secret: TEST_SECRET, clock });
    onTestFinished(() => twin.close());
    const delivery = await twin.deliver(deleted, { overtakenBy: back });
    return { delivery, type: held?.type };
  }

  test("arrives after it, in an attempt of its own", async () => {
    const { delivery } = await stateAfter((event) => event);
    expect(delivery.end).toBe("acknowledged");
    expect(delivery.attempts.map(({ fault, status }) => fault ?? status)).toEqual([
      "request_lost",
      200,
    ]);
  });

  test("convicts a handler that keeps what came last, and no handler that compares times", async () => {
    expect((await stateAfter((event) => event)).type).toBe("DATA_DELETED");
    const newer = await stateAfter((event, held) =>
      held === undefined || event.occurred_at > held.occurred_at ? event : held,
    );
    expect(newer.type).toBe("DATA_REAPPEARED");
  });

  test("is not sent at all if the newer one is no event, or of a type without a webhook", async () => {
    const hook = { target: "http://127.0.0.1:1", secret, type: "delete_my_data_event" } as const;
    const twin = createGatewayTwin({ webhooks: [hook] });
    onTestFinished(() => twin.close());
    const overtakenBy = (newer: object) => twin.deliver(deleted, { overtakenBy: newer as never });
    await expect(overtakenBy({})).rejects.toThrow("the event");
    await expect(overtakenBy({ alarm: alarm() })).rejects.toMatchObject({
      name: "ConfigurationError",
      message: expect.stringContaining("overtakenBy") as string,
    });
    expect(twin.history()).toEqual([]);
  });
});
