import { describe, expect, it } from "vitest";
import { type WebhookReceiverOptions } from "../../src/index.js";
import { decode } from "../../src/records/decode.js";
import { Log } from "../../src/answer/logger.js";
import { driftOf, DriftWatch } from "../../src/telemetry/drift-watch.js";
import { createCollector, linesWith } from "../support/collector.js";
import {
  alarm,
  alarmBody,
  delivery,
  eventDelivery,
  onlineDataEvent,
} from "../support/deliveries.js";
import { BUREAUS, EVENT_TYPES, HACKED_ITEMS } from "../records/documented-values.js";
import { recordingReceiver } from "../support/recording-receiver.js";

function decoded(body: unknown, type: string) {
  return decode(new TextEncoder().encode(JSON.stringify(body)), type);
}

function driftIn(body: unknown, type = "new_alarm"): readonly string[] {
  return driftOf(decoded(body, type), type);
}

/** How a value is told that the document does not list. */
const oddValue = (field: string) => `${field} has a value that is not documented`;

const alarmDrift = (changes: Record<string, unknown>) => driftIn({ alarm: alarm(changes) });
const eventDrift = (type: string, changes: Record<string, unknown> = {}) =>
  driftIn({ event: onlineDataEvent(type, changes) }, "delete_my_data_event");

describe("one look tells a record as the document has it from any other", () => {
  function isDocumented(body: unknown, type = "new_alarm"): boolean {
    const result = decoded(body, type);
    return "isDocumented" in result && result.isDocumented;
  }

  it.each(EVENT_TYPES)("an event of type %s, and not one with a field less", (type) => {
    const event = onlineDataEvent(type);
    const shorter = Object.fromEntries(Object.entries(event).slice(0, -1));
    expect(isDocumented({ event }, "delete_my_data_event")).toBe(true);
    expect(isDocumented({ event: shorter }, "delete_my_data_event")).toBe(false);
  });

  it.each([
    [{}, true],
    [{ severity: "Added2030" }, false],
    [{ id: "7" }, false],
    [{ added: 1 }, false],
  ])("an alarm with %j: %s", (changes, expected) => {
    expect(isDocumented({ alarm: alarm(changes) })).toBe(expected);
  });
});

describe("what the gateway's document lists is no drift", () => {
  it.each([
    ...["Low", "Medium", "High", "Info"].map((severity) => ({ severity })),
    ...["NEW", "CLOSED"].map((status) => ({ status })),
    ...["BreachDb", ...BUREAUS].map((source) => ({ source })),
    ...HACKED_ITEMS.map((item) => ({ event_type: `${item}_hacked` })),
    ...BUREAUS.map((event_type) => ({ event_type })),
    ...[1, 2, 3, 4, 5, 6, 7, "3"].map((category_id) => ({ category_id })),
    { id: "7" },
    { account_id: "42" },
    { date: "2026-07-08T10:00:00Z" },
    { payload: "{" },
  ])("an alarm with %j", (changes) => {
    expect(alarmDrift(changes)).toEqual([]);
  });

  it.each(EVENT_TYPES)("an event of type %s, with each severity", (type) => {
    for (const severity of ["INFO", "SUCCESS", "WARNING"]) {
      expect(eventDrift(type, { severity })).toEqual([]);
    }
    expect(eventDrift(type, { account_id: "42" })).toEqual([]);
  });

  it("a body that is not JSON, not an object or without a field is no drift: its outcome says so", () => {
    expect(driftIn([1])).toEqual([]);
    expect(driftIn("text")).toEqual([]);
    expect(driftIn({ alarm: { id: 1 } })).toEqual([]);
    expect(driftIn({ alarm: alarm() }, "delete_my_data_event")).toEqual([]);
  });
});

describe("what it does not list is drift", () => {
  it.each<[Record<string, unknown>, readonly string[]]>([
    [{ new_field: 1 }, ["alarm.new_field is not documented"]],
    [
      { address_line2: 1, _b: null },
      ["alarm.address_line2 is not documented", "alarm._b is not documented"],
    ],
    [{ severity: "Critical" }, [oddValue("alarm.severity")]],
    [{ status: "__proto__" }, [oddValue("alarm.status")]],
    [{ source: "constructor" }, [oddValue("alarm.source")]],
    [{ event_type: "wallet_hacked" }, [oddValue("alarm.event_type")]],
    [{ category_id: 8 }, [oddValue("alarm.category_id")]],
  ])("an alarm with %j", (changes, drift) => {
    expect(alarmDrift(changes)).toEqual(drift);
    // The same for a record that has to be converted.
    expect(alarmDrift({ id: "7", ...changes })).toEqual(drift);
  });

  it.each([
    ["DATA_DELETED", { site_country: "SE" }, "event.site_country is not documented"],
    ["DATA_DELETED", { severity: "ERROR" }, oddValue("event.severity")],
    ["SITE_ADDED", {}, oddValue("event.type")],
  ])("an event %s with %j", (type, changes, drift) => {
    expect(eventDrift(type, changes)).toEqual([drift]);
  });

  it("a webhook type, and a field of the body", () => {
    expect(driftIn({ account: {} }, "account_closed")).toEqual([
      oddValue("X-Webhook-Type"),
      "body.account is not documented",
    ]);
  });

  it.each([
    "jane.doe@mail.example",
    "",
    "7",
    "a".repeat(65),
    "customer_4711_0815",
    "JaneDoe",
    "a1b2c3d4e5f6a7b8",
    "_",
  ])("the name %j is not written", (name) => {
    expect(alarmDrift({ [name]: 1 })).toEqual([
      "alarm has a field with an unusual name, which is not documented",
    ]);
  });

  it("an own __proto__ key is a field like any other", () => {
    const text = alarmBody().replace('{"id"', '{"__proto__":{"a":1},"id"');
    const body = decode(new TextEncoder().encode(text), "new_alarm");
    expect(driftOf(body, "new_alarm")).toEqual(["alarm.__proto__ is not documented"]);
  });

  it("at most 100 fields of one delivery are named", () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [`f${String(at)}`, 1]),
    );
    expect(alarmDrift(many)).toHaveLength(100);
  });
});

function drifting(options: Partial<WebhookReceiverOptions> = {}) {
  const { receiver, lines } = recordingReceiver(options);
  const send = async (id: number, changes: Record<string, unknown>) =>
    receiver.receive(await delivery({ id: String(id), body: alarmBody(changes) }));
  return { receiver, send, lines: () => linesWith(lines, "schema drift") };
}

describe("the log of drift", () => {
  it("each drift is one warning, however often it comes, and the delivery is handled", async () => {
    const { receiver, send, lines } = drifting();
    for (let id = 0; id < 5; id += 1) {
      const { outcome } = await send(id, { new_field: 1, severity: `Critical ${String(id)}` });
      expect(outcome).toBe("handled");
    }
    await receiver.receive(await eventDelivery("SITE_ADDED", { id: "event" }));
    expect(lines().map(({ level, details }) => [level, details])).toEqual(
      Array(3).fill(["warn", {}]),
    );
    expect(lines().map(({ message }) => message.split(". ")[0])).toEqual([
      "identity-gateway-webhooks: schema drift: alarm.new_field is not documented",
      "identity-gateway-webhooks: schema drift: alarm.severity has a value that is not documented",
      "identity-gateway-webhooks: schema drift: event.type has a value that is not documented",
    ]);
  });

  it("what a handler does to its record is no drift", async () => {
    const { send, lines } = drifting({
      handlers: { new_alarm: (record) => Object.assign(record, { own_field: 1, status: "SEEN" }) },
    });
    await send(1, {});
    expect(lines()).toEqual([]);
  });

  it("an unauthenticated request causes no line", async () => {
    const { receiver, lines } = drifting();
    const body = alarmBody({ new_field: 1 });
    await receiver.receive(await delivery({ body, secret: "another secret of 20" }));
    expect(lines()).toEqual([]);
  });

  it("at most 100 names are kept and logged", () => {
    const { options, lines } = createCollector();
    let times = 0;
    const watch = new DriftWatch(new Log(options.logger), () => (times += 1));
    for (let at = 0; at < 300; at += 1) {
      const record = alarm({ [`field_${String(at)}`]: 1 });
      watch.check(decoded({ alarm: record }, "new_alarm"), "new_alarm");
      watch.check(decoded({ alarm: alarm({ status: "OLD" }) }, "new_alarm"), "new_alarm");
    }
    expect(watch.counts().size).toBe(100);
    expect(watch.counts().get(oddValue("alarm.status"))).toBe(300);
    expect(times).toBe(600);
    expect(lines).toHaveLength(100);
  });
});
