import { describe, expect, test } from "vitest";
import { verifySignature, type OnlineDataEvent } from "../../src/index.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import type { TwinAttempt, TwinDelivery } from "../../kit/twin/twin-delivery.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, onlineDataEvent, TEST_SECRET } from "../support/deliveries.js";
import { twinEndpoint } from "../support/testing/twin-endpoint.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const secret = TEST_SECRET;
const removed: OnlineDataEvent = {
  ...onlineDataEvent("DATA_DELETED"),
  type: "DATA_DELETED",
  site_id: 7,
  site_name: "Example Broker",
  site_base_url: "https://broker.example",
};

describe("webhooks", () => {
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
    expect([alarms, moreAlarms, events, off].map((one) => one.arrivals.length)).toEqual([
      1, 2, 0, 0,
    ]);
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

  test("an event without an active webhook gives no delivery", async () => {
    const twin = createGatewayTwin({
      webhooks: [{ target: "http://localhost", type: "new_alarm", secret, isActive: false }],
    });
    expect(await twin.deliver({ alarm: alarm() })).toEqual([]);
  });

  test("the caller may set the id if one webhook receives the event", async () => {
    const clock = createVirtualClock();
    const { target } = twinEndpoint(clock.now, () => 200);
    const webhooks = [{ target, type: "new_alarm", secret } as const];
    const deliver = (count: number) =>
      createGatewayTwin({
        clock,
        webhooks: Array(count).fill(webhooks[0]) as typeof webhooks,
      }).deliver({ alarm: alarm() }, { id: "mine" });
    expect(await deliver(1)).toMatchObject([{ id: "mine", end: "acknowledged" }]);
    await expect(deliver(2)).rejects.toThrow("each delivery needs its own id");
  });
});

describe("a delivery", () => {
  test("a delivery is the documented request, for an alarm, an event and any body", async () => {
    const clock = createVirtualClock();
    const { target, arrivals } = twinEndpoint(clock.now, () => 200);
    const twin = createGatewayTwin({ target, secret, clock });
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
      JSON.stringify({ alarm: alarm() }),
      JSON.stringify({ event: removed }),
      "not JSON",
    ]);
    const [first] = arrivals;
    expect(first?.headers.get("x-webhook-id")).toBe("a-1");
    expect(first?.headers.get("content-type")).toBe("application/json");
    expect(first?.headers.get("x-webhook-timestamp")).toBe("1760000000");
  });

  test("a receiver of both types handles the twin's deliveries", async () => {
    const clock = createVirtualClock();
    const { receiver, handled } = recordingReceiver({ now: clock.now });
    const twin = createGatewayTwin({ target: receiver, secret, clock });
    await twin.deliverMany([{ alarm: alarm() }, { event: removed }]);
    expect(handled).toEqual([alarm(), removed]);
    expect(twin.now()).toBe(clock.now());
  });

  test("observers see each attempt and delivery, and their errors are ignored", async () => {
    const clock = createVirtualClock();
    const { target } = twinEndpoint(clock.now, (_arrival, count) => (count < 2 ? 503 : 200));
    const attempts: TwinAttempt[] = [];
    const deliveries: TwinDelivery[] = [];
    const twin = createGatewayTwin({
      target,
      secret,
      clock,
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
});
