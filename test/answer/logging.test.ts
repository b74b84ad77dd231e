import { afterEach, describe, expect, it, vi } from "vitest";
import {
  createWebhookReceiver,
  RetryLater,
  type Outcome,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { alarmReceiver, type AlarmHandler } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import {
  NOW_MS,
  NOW_SECONDS,
  TEST_SECRET,
  delivery,
  eventDelivery,
  type DeliveryOverrides,
} from "../support/deliveries.js";

const HANDLERS = { new_alarm: () => undefined };

function receiverWith(options: Partial<WebhookReceiverOptions> = {}) {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: HANDLERS,
    logger: false,
    now: () => NOW_MS,
    ...options,
  } as WebhookReceiverOptions);
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("the logger", () => {
  it("that throws has no effect on the answer", async () => {
    const fail = () => {
      throw new Error("disk full");
    };
    const receiver = alarmReceiver(
      () => {
        throw new Error("handler failed");
      },
      { logger: { warn: fail, error: fail } },
    );
    expect(await receiver.receive(await delivery())).toMatchObject({ status: 500 });
    expect(await receiver.receive({ headers: {}, body: "" })).toMatchObject({ status: 409 });
    expect(() =>
      receiverWith({
        secret: undefined,
        acceptUnsignedDeliveries: true,
        logger: { warn: fail, error: fail },
      }),
    ).not.toThrow();
  });

  it("that is asynchronous and fails has no effect either", async () => {
    const fail = () => Promise.reject(new Error("log server is away"));
    const receiver = receiverWith({ logger: { warn: fail, error: fail } });
    expect(await receiver.receive({ headers: {}, body: "" })).toMatchObject({ status: 409 });
    expect(await receiver.receive(await delivery({ body: "no JSON" }))).toMatchObject({
      status: 503,
    });
  });

  it("false is silent, also on the console", async () => {
    const spies = (["log", "info", "debug", "warn", "error"] as const).map((level) =>
      vi.spyOn(console, level),
    );
    const receiver = receiverWith({ logger: false });
    await receiver.receive({ headers: {}, body: "" });
    await receiver.receive(await delivery({ body: "no JSON" }));
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  it("is the console by default, called as its own method", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: HANDLERS,
      now: () => NOW_MS,
    });
    await receiver.receive({ headers: {}, body: "" });
    await receiver.receive(await delivery({ body: "no JSON" }));
    expect(warn).toHaveBeenCalledOnce();
    expect(warn.mock.contexts[0]).toBe(console);
    expect(error).toHaveBeenCalledOnce();
    expect(warn.mock.calls[0]?.[0]).toMatch(/^identity-gateway-webhooks: malformed: /);
  });

  it("keeps quiet about what went well", async () => {
    const { options, lines } = createCollector();
    const receiver = receiverWith(options);
    const copy = await delivery();
    await receiver.receive(copy);
    await receiver.receive(copy);
    await receiver.receive({ method: "GET", headers: {}, body: "" });
    expect(lines).toEqual([]);
  });

  it("is told the report beside the line", async () => {
    const { options, lines, reports } = createCollector();
    await receiverWith(options).receive(await delivery({ timestamp: NOW_SECONDS + 301 }));
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

  it("hears where an unrecognized body is off, and what to do", async () => {
    const { options, lines } = createCollector();
    const receiver = receiverWith(options);
    await receiver.receive(await delivery({ body: '{"alarm":{"id":"x"}}' }));
    expect(lines[0]).toMatchObject({ level: "error" });
    expect(lines[0]?.message).toContain("alarm.id: expected");
    expect(lines[0]?.message).toContain("Give handlers.unrecognized to take it.");
  });

  it("is warned once per type that has no handler", async () => {
    const { options, lines } = createCollector();
    const receiver = receiverWith({
      ...options,
      handlers: { delete_my_data_event: { DATA_DELETED: () => undefined } },
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      for (const type of ["DATA_REAPPEARED", "PERSONAL_DATA_FOUND"]) {
        const response = await receiver.receive(await eventDelivery(type));
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

  it("is warned of acceptUnsignedDeliveries when the receiver is made, and not otherwise", () => {
    const { options, lines } = createCollector();
    receiverWith({ ...options, secret: undefined, acceptUnsignedDeliveries: true });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "warn",
      message: expect.stringContaining("acceptUnsignedDeliveries") as string,
    });
    receiverWith(options);
    expect(lines).toHaveLength(1);
  });
});

describe("lines that anybody can cause", () => {
  it("are thinned to one a minute, which says how many were held back", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { options, lines, reports } = createCollector();
    const receiver = receiverWith(options);
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

  it("of one outcome do not hold back those of another", async () => {
    const { options, lines } = createCollector();
    const receiver = receiverWith({ ...options, maxBodyBytes: 100 });
    const genuine = await delivery();
    const requests: WebhookRequest[] = [
      { headers: {}, body: "" },
      { ...genuine, headers: without(genuine.headers), body: "" },
      { ...genuine, body: "forged" },
      { ...(await delivery({ timestamp: 0, body: "{}" })) },
      { ...(await delivery({ body: '{"event":1}' })) },
      { headers: {}, body: new Uint8Array(101) },
      { headers: {}, body: new UnreadableBody("body_timeout", 1) },
      { headers: {}, body: new UnreadableBody("body_consumed", 0) },
    ];
    for (const request of [...requests, ...requests, ...requests]) await receiver.receive(request);
    expect(lines.map(({ message }) => message.split(": ")[1])).toEqual([
      ...["malformed", "unsigned", "signature_mismatch", "stale", "type_mismatch"],
      ...["body_too_large", "body_timeout", "body_consumed"],
    ]);
  });
});

describe("lines that someone with a captured delivery can cause", () => {
  const FAILURES: readonly [Outcome, AlarmHandler, DeliveryOverrides][] = [
    ["handler_failed", () => Promise.reject(new Error("handler failed")), {}],
    ["retry_later", () => Promise.reject(new RetryLater()), {}],
    ["unrecognized", () => undefined, { body: "[]" }],
  ];

  it.each(FAILURES)(
    "(%s) are thinned to one a minute for each id",
    async (outcome, handler, of) => {
      vi.useFakeTimers({ toFake: ["performance"] });
      const { options, lines, reports } = createCollector();
      const receiver = alarmReceiver(handler, options);
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

  it.each(FAILURES)("(%s) are all written where the ids differ", async (_outcome, handler, of) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { options, lines } = createCollector();
    const receiver = alarmReceiver(handler, options);
    // More than the ids that are remembered.
    const ids = Array.from({ length: 1_500 }, (_, at) => `delivery-${String(at)}`);
    for (const id of ids) await receiver.receive(await delivery({ ...of, id }));
    const written = lines.map(({ details }) => (details as { id?: string }).id);
    expect(written).toEqual(ids);
  });

  it("do not hold back another outcome of the same id", async () => {
    const { options, lines } = createCollector();
    let runs = 0;
    const receiver = alarmReceiver(() => {
      runs += 1;
      throw runs % 2 === 0 ? new RetryLater() : new Error("handler failed");
    }, options);
    const captured = await delivery();
    for (let replay = 0; replay < 4; replay++) await receiver.receive(captured);
    expect(lines.map(({ message }) => message.split(": ")[1])).toEqual([
      "handler_failed",
      "retry_later",
    ]);
  });
});

function without<T extends { "x-webhook-signature": string }>(headers: T) {
  return { ...headers, "x-webhook-signature": undefined };
}
