import { describe, expect, it, vi } from "vitest";
import { RetryLater, type WebhookOutcome, type WebhookRequest } from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { observedAlarmReceiver, type AlarmHandler } from "../support/alarm-receiver.js";
import {
  NOW_SECONDS,
  delivery,
  eventDelivery,
  type DeliveryOverrides,
} from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver, trustingReceiver } from "../support/recording-receiver.js";

describe("the logger", () => {
  it.each([
    ["throws", throwing(new Error("disk full"))],
    ["rejects", () => Promise.reject(new Error("log server is away"))],
  ])("a logger that %s does not affect the answer", async (_, fail) => {
    const { receive } = trustingReceiver({ logger: { warn: fail, error: fail } });
    expect(await receive({ headers: {}, body: "" })).toMatchObject({ status: 409 });
    expect(await receive(await delivery({ body: "no JSON" }))).toMatchObject({ status: 503 });
  });

  it("logger: false writes nothing, not even to the console", async () => {
    const spies = (["log", "info", "debug", "warn", "error"] as const).map((level) =>
      vi.spyOn(console, level),
    );
    const { receiver } = recordingReceiver({ logger: false });
    await receiver.receive({ headers: {}, body: "" });
    await receiver.receive(await delivery({ body: "no JSON" }));
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  it("the logger defaults to the console and is called as its method", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { receiver } = recordingReceiver({ logger: undefined });
    await receiver.receive({ headers: {}, body: "" });
    await receiver.receive(await delivery({ body: "no JSON" }));
    expect(warn).toHaveBeenCalledOnce();
    expect(warn.mock.contexts[0]).toBe(console);
    expect(error).toHaveBeenCalledOnce();
    expect(warn.mock.calls[0]?.[0]).toMatch(/^identity-gateway-webhooks: malformed: /);
  });

  it("the logger writes nothing about successful deliveries", async () => {
    const { receiver, lines } = recordingReceiver();
    const request = await delivery();
    await receiver.receive(request);
    await receiver.receive(request);
    await receiver.receive({ method: "GET", headers: {}, body: "" });
    expect(lines).toEqual([]);
  });

  it("the logger receives the report as details", async () => {
    const { receive, lines, reports } = recordingReceiver();
    await receive(await delivery({ timestamp: NOW_SECONDS + 301 }));
    expect(lines).toEqual([
      {
        level: "error",
        message: expect.stringMatching(
          /^identity-gateway-webhooks: stale: The signed timestamp is outside the tolerance\. Signed 301 s ahead/,
        ) as string,
        details: reports[0],
      },
    ]);
  });

  it("the logger warns once for each type without a handler", async () => {
    const { receiver, lines } = recordingReceiver({
      handlers: { delete_my_data_event: { DATA_DELETED: () => undefined } },
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      for (const type of ["DATA_REAPPEARED", "PERSONAL_DATA_FOUND"]) {
        const response = await receiver.receive(await eventDelivery(type, { id: type }));
        expect(response).toMatchObject({ status: 200, outcome: "unhandled" });
      }
      await receiver.receive(await delivery());
    }
    expect(lines.map(({ level, message }) => [level, /for (\S+),/.exec(message)?.[1]])).toEqual([
      ["warn", "DATA_REAPPEARED"],
      ["warn", "PERSONAL_DATA_FOUND"],
      ["warn", "new_alarm"],
    ]);
  });

  it("the logger warns of acceptUnsignedDeliveries when the receiver is created, and otherwise not", () => {
    const { lines } = trustingReceiver();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "warn",
      message: expect.stringContaining("acceptUnsignedDeliveries") as string,
    });
    expect(recordingReceiver().lines).toEqual([]);
  });
});

describe("lines that any sender can cause", () => {
  it("log lines that any sender can cause are limited to one a minute, with the number of omitted ones", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { receiver, lines, reports } = recordingReceiver();
    const forged = { ...(await delivery()), body: "forged" };
    const flood = async (count: number) => {
      for (let sent = 0; sent < count; sent += 500) {
        await Promise.all(Array.from({ length: 500 }, () => receiver.receive(forged)));
      }
    };
    await flood(10_000);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.message).not.toContain("more since");
    vi.advanceTimersByTime(59_999);
    await receiver.receive(forged);
    expect(lines).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await receiver.receive(forged);
    expect(lines).toHaveLength(2);
    expect(lines[1]?.message).toContain("(and 10000 more since the last such line)");
    vi.advanceTimersByTime(60_000);
    await receiver.receive(forged);
    expect(lines).toHaveLength(3);
    expect(lines[2]?.message).not.toContain("more since");
    expect(reports).toHaveLength(10_003);
  });

  it("the limit of log lines for one outcome does not hold back another outcome", async () => {
    const { receiver, lines } = recordingReceiver({ maxBodyBytes: 100 });
    const genuine = await delivery();
    const requests: WebhookRequest[] = [
      { headers: {}, body: "" },
      { ...genuine, headers: { ...genuine.headers, "x-webhook-signature": undefined }, body: "" },
      { ...genuine, body: "forged" },
      await delivery({ timestamp: 0, body: "{}" }),
      await delivery({ body: '{"event":1}' }),
      { headers: {}, body: new Uint8Array(101) },
      { headers: {}, body: new UnreadableBody("body_timeout", 1) },
      { headers: {}, body: new UnreadableBody("body_consumed", 0) },
    ];
    for (const request of [...requests, ...requests, ...requests]) await receiver.receive(request);
    expect(lines.map(({ message }) => message.split(": ")[1])).toEqual([
      "malformed",
      "unsigned",
      "signature_mismatch",
      "stale",
      "type_mismatch",
      "body_too_large",
      "body_timeout",
      "body_consumed",
    ]);
  });
});

describe("lines that a captured delivery can cause", () => {
  const FAILURES: readonly [WebhookOutcome, AlarmHandler, DeliveryOverrides][] = [
    ["handler_failed", () => Promise.reject(new Error("handler failed")), {}],
    ["retry_later", () => Promise.reject(new RetryLater()), {}],
    ["unrecognized", () => undefined, { body: "[]" }],
  ];

  it.each(FAILURES)(
    "log lines (%s) are limited to one a minute for each id",
    async (outcome, handler, of) => {
      vi.useFakeTimers({ toFake: ["performance"] });
      const { receiver, lines, reports } = observedAlarmReceiver(handler);
      const captured = await delivery(of);
      for (let replay = 0; replay < 1_000; replay++) await receiver.receive(captured);
      expect(lines).toHaveLength(1);
      vi.advanceTimersByTime(60_000);
      await receiver.receive(captured);
      expect(lines).toHaveLength(2);
      expect(lines[1]?.message).toContain("(and 999 more since the last such line)");
      expect(reports).toHaveLength(1_001);
      expect(reports.every((report) => report.outcome === outcome)).toBe(true);
    },
  );

  it.each(FAILURES)(
    "log lines (%s) of several ids are all written",
    async (_outcome, handler, of) => {
      vi.useFakeTimers({ toFake: ["performance"] });
      const { receiver, lines } = observedAlarmReceiver(handler);
      // More ids than the receiver remembers.
      const ids = Array.from({ length: 1_500 }, (_, at) => `delivery-${String(at)}`);
      for (const id of ids) await receiver.receive(await delivery({ ...of, id }));
      const written = lines.map(({ details }) => (details as { id?: string }).id);
      expect(written).toEqual(ids);
    },
  );

  it("log lines of many ids do not end the limit of a line that any sender can cause", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { receiver, lines } = observedAlarmReceiver(throwing(new Error("handler failed")));
    const forged = { ...(await delivery()), body: "forged" };
    await receiver.receive(forged);
    // More ids than the receiver remembers.
    for (let at = 0; at < 1_500; at++) {
      await receiver.receive(await delivery({ id: `delivery-${String(at)}` }));
    }
    await receiver.receive(forged);
    // The first of the ids is forgotten, so it gets a line too early, but not too late.
    await receiver.receive(await delivery({ id: "delivery-0" }));
    expect(lines.at(-1)?.details).toMatchObject({ id: "delivery-0" });
    const about = lines.map(({ message }) => message.split(": ")[1]);
    expect(about.filter((outcome) => outcome === "signature_mismatch")).toHaveLength(1);
  });

  it("the limit of log lines for one id does not hold back another outcome of the same id", async () => {
    let runs = 0;
    const { receiver, lines } = observedAlarmReceiver(() => {
      runs += 1;
      throw runs % 2 === 0 ? new RetryLater() : new Error("handler failed");
    });
    const captured = await delivery();
    for (let replay = 0; replay < 4; replay++) await receiver.receive(captured);
    expect(lines.map(({ message }) => message.split(": ")[1])).toEqual([
      "handler_failed",
      "retry_later",
    ]);
  });
});
