import { metrics, trace } from "@opentelemetry/api";
import { afterEach, expect, it, vi } from "vitest";
import {
  openTelemetry,
  type OpenTelemetryOptions,
} from "../../src/telemetry/opentelemetry/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { calledWorker } from "../support/inbox/called-worker.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";
import { inMemorySdk } from "../support/telemetry/in-memory.js";

const API = Symbol.for("opentelemetry.js.api.1");
const globals = globalThis as Record<symbol, object | undefined>;

const HANDLED_ALARMS = 'gateway_webhook_requests_total{outcome="handled",type="new_alarm"}';

afterEach(() => {
  trace.disable();
  metrics.disable();
  Reflect.deleteProperty(globalThis, API);
});

/** The warnings of two receivers with the global providers, also those that come later. */
function warnings(): string[] {
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line), error: () => undefined };
  const telemetry = openTelemetry();
  for (let made = 0; made < 2; made++) alarmReceiver(() => undefined, { telemetry, logger });
  return lines;
}

const OTHER_COPY = expect.stringContaining("another copy of @opentelemetry/api (1.0.0)") as string;

it("an SDK registered with a newer copy of the API is warned of once", () => {
  globals[API] = { version: "1.0.0", trace: {}, metrics: {} };
  expect(warnings()).toEqual([OTHER_COPY]);
});

it("an SDK registered with another copy of the API after the receiver was made is warned of once", () => {
  vi.useFakeTimers();
  const lines = warnings();
  expect(lines).toEqual([]);
  globals[API] = { version: "1.0.0", trace: {}, metrics: {} };
  vi.advanceTimersByTime(10_000);
  expect(lines).toEqual([OTHER_COPY]);
});

it("an SDK of another major version of the API is warned of", () => {
  const other = Symbol.for("opentelemetry.js.api.2");
  globals[other] = { version: "2.0.0", trace: {} };
  expect(warnings()).toHaveLength(1);
  Reflect.deleteProperty(globalThis, other);
});

it("our own API and no SDK at all are not warned of", () => {
  expect(warnings()).toEqual([]);
  const { tracerProvider, meterProvider } = inMemorySdk();
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);
  expect(warnings()).toEqual([]);
});

it("openTelemetry refuses a version of the API without a method that it calls", () => {
  Object.assign(metrics, { getMeterProvider: undefined });
  try {
    expect(() => openTelemetry()).toThrow(
      expect.objectContaining({
        code: "unsupported_version",
        message:
          "openTelemetry is of a version of @opentelemetry/api without the method getMeterProvider, which does not work here. Supported: @opentelemetry/api 1.9 and later",
      }) as Error,
    );
  } finally {
    Reflect.deleteProperty(metrics, "getMeterProvider");
  }
});

it("an SDK that starts within ten seconds after the receiver was made gets its metrics and spans", async () => {
  vi.useFakeTimers();
  const receiver = alarmReceiver(() => undefined, { telemetry: openTelemetry() });
  await receiver.receive(await delivery());
  vi.advanceTimersByTime(9_000);
  const sdk = inMemorySdk();
  trace.setGlobalTracerProvider(sdk.tracerProvider);
  metrics.setGlobalMeterProvider(sdk.meterProvider);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  await receiver.receive(await delivery({ id: "second" }));
  expect(sdk.spans().map(({ name }) => name)).toEqual(["process new_alarm"]);
  expect((await sdk.series()).get(HANDLED_ALARMS)).toBe(2);
});

it("an SDK that was given is not looked for again", () => {
  vi.useFakeTimers();
  const { meterProvider } = inMemorySdk();
  alarmReceiver(() => undefined, { telemetry: openTelemetry({ meterProvider }) });
  expect(vi.getTimerCount()).toBe(0);
});

it("an SDK that starts after the worker was made counts the jobs that end from then on", async () => {
  const telemetry = openTelemetry();
  const worker = calledWorker({
    handlers: { new_alarm: () => undefined },
    telemetry,
    logger: false,
  });
  await worker(await alarmJob());
  const sdk = inMemorySdk();
  metrics.setGlobalMeterProvider(sdk.meterProvider);
  await worker(await alarmJob());
  const series = await sdk.series();
  expect(series.get('gateway_webhook_jobs_total{outcome="handled",type="new_alarm"}')).toBe(1);
});

it("two telemetries and receivers of one provider add up", async () => {
  const sdk = inMemorySdk();
  const { meterProvider } = sdk;
  for (let made = 0; made < 2; made++) {
    const receiver = alarmReceiver(() => undefined, {
      telemetry: openTelemetry({ meterProvider, spans: false }),
    });
    await receiver.receive(await delivery());
  }
  expect((await sdk.series()).get(HANDLED_ALARMS)).toBe(2);
});

it("a meter whose histograms throw changes no answer", async () => {
  const { meterProvider } = inMemorySdk();
  const meter = meterProvider.getMeter("broken");
  const record = throwing(new Error("made up"));
  const broken = Object.assign(Object.create(meter) as typeof meter, {
    createHistogram: () => ({ record }),
  });
  const telemetry = openTelemetry({ meterProvider: { getMeter: () => broken } });
  const receiver = alarmReceiver(() => Promise.resolve(), { telemetry });
  expect((await receiver.receive(await delivery())).outcome).toBe("handled");
  expect((await receiver.receive(await delivery())).outcome).toBe("duplicate");
});

it.each([
  ["an unknown option", { span: true }, "unknown_option"],
  ["spans that are no boolean", { spans: "yes" }, "invalid_option"],
  ["another linkJobs", { linkJobs: "both" }, "invalid_option"],
  ["recordHandlerErrors that is no boolean", { recordHandlerErrors: 1 }, "invalid_option"],
  ["a tracerProvider without getTracer", { tracerProvider: {} }, "invalid_option"],
  ["a meterProvider without getMeter", { meterProvider: {} }, "invalid_option"],
])("openTelemetry refuses %s", (_, options, code) => {
  const make = () => openTelemetry(options as unknown as OpenTelemetryOptions);
  expect(make).toThrow(expect.objectContaining({ code }));
});
