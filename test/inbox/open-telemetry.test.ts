import { context, SpanKind, trace } from "@opentelemetry/api";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createWebhookReceiver, RetryLater, type WebhookTelemetry } from "../../src/index.js";
import { inbox } from "../../src/inbox/index.js";
import {
  openTelemetry,
  type OpenTelemetryOptions,
} from "../../src/telemetry/opentelemetry/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { MemoryDriver } from "../support/inbox/memory-queue.js";
import {
  alarmDelivery,
  inboxReceiver,
  keepingQueue,
  settlesAt,
  watchWorker,
  failingWorker,
} from "../support/inbox/receiver-and-worker.js";
import { enableContext, inMemorySdk, parsePrometheus } from "../support/telemetry/in-memory.js";
import { calledWorker } from "../support/inbox/called-worker.js";

let disable: () => void;
let sdk: ReturnType<typeof inMemorySdk>;

beforeAll(() => {
  disable = enableContext();
});
afterAll(() => {
  disable();
});

function telemetryOf(options: OpenTelemetryOptions = {}): WebhookTelemetry {
  sdk = inMemorySdk();
  const { tracerProvider, meterProvider } = sdk;
  return openTelemetry({ tracerProvider, meterProvider, ...options });
}

const named = (name: string) => {
  const found = sdk.spans().find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}`);
  return found;
};

afterEach(() => {
  sdk.reset();
});

it("a worker's span is a root that links to the span of the job's write", async () => {
  const telemetry = telemetryOf();
  const driver = new MemoryDriver();
  const receiver = inboxReceiver(driver, undefined, telemetry);
  const server = sdk.tracer.startSpan("POST");
  const delivery = await alarmDelivery(1);
  await context.with(trace.setSpan(context.active(), server), () => receiver.receive(delivery));
  let active: string | undefined;
  const handle = () => {
    active = trace.getActiveSpan()?.spanContext().spanId;
  };
  const { stop } = watchWorker(driver, handle, { telemetry });
  await settlesAt(
    () => sdk.spans().map((span) => `${String(span.kind)} ${span.name}`),
    [
      `${String(SpanKind.PRODUCER)} send memory`,
      `${String(SpanKind.CONSUMER)} process new_alarm`,
      `${String(SpanKind.CONSUMER)} process new_alarm`,
    ],
  );
  await stop();
  const [send, receive, work] = sdk.spans();
  expect(receive?.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
  expect(send?.parentSpanContext?.spanId).toBe(receive?.spanContext().spanId);
  expect(work?.parentSpanContext).toBeUndefined();
  expect(work?.links.map((link) => link.context.spanId)).toEqual([send?.spanContext().spanId]);
  expect(work?.spanContext().traceId).not.toBe(send?.spanContext().traceId);
  expect(active).toBe(work?.spanContext().spanId);
  expect(work?.attributes).toMatchObject({
    "messaging.destination.name": "memory",
    "gateway_webhook.outcome": "handled",
    "gateway_webhook.attempt": 1,
  });
  const series = parsePrometheus(await sdk.prometheusText());
  expect(series.get('gateway_webhook_jobs_total{outcome="handled",type="new_alarm"}')).toBe(1);
});

it("the age of the oldest job and the counts of waiting and dead jobs are measured", async () => {
  const driver = new MemoryDriver();
  const receiver = inboxReceiver(driver, undefined, telemetryOf());
  const measured = async () => {
    const series = parsePrometheus(await sdk.prometheusText());
    const counts = ["waiting", "dead"].map((state) =>
      series.get(`gateway_webhook_jobs_queued{queue="memory",state="${state}"}`),
    );
    return { age: series.get('gateway_webhook_jobs_oldest_age{queue="memory"}') ?? 0, counts };
  };
  await receiver.receive(await alarmDelivery(1));
  await expect.poll(async () => (await measured()).age).toBeGreaterThan(0);
  const { age: first } = await measured();
  await receiver.receive(await alarmDelivery(2));
  await expect.poll(async () => (await measured()).age).toBeGreaterThan(first);
  expect((await measured()).counts).toEqual([2, 0]);
  const { stop } = failingWorker(driver);
  await settlesAt(measured, { age: 0, counts: [0, 2] });
  await stop();
});

it("an export asks a queue once, and an unknown number has no series", async () => {
  const telemetry = telemetryOf();
  let calls = 0;
  const waiting = () => Promise.resolve({ dead: (calls += 1) });
  inboxReceiver({ name: "half", put: () => Promise.resolve(), waiting }, undefined, telemetry);
  const text = await sdk.prometheusText();
  expect(text).toContain('gateway_webhook_jobs_queued{queue="half",state="dead"} 1');
  expect(text).not.toMatch(/oldest_age\{|state="waiting"/);
  expect(calls).toBe(1);
});

it("a queue that does not answer has no age, and other metrics are exported", async () => {
  const telemetry = telemetryOf();
  const waiting = () => Promise.reject(new Error("made up"));
  const driver = { name: "down", put: () => Promise.resolve(), waiting };
  inboxReceiver(driver, undefined, telemetry);
  const text = await sdk.prometheusText();
  expect(text).not.toContain("oldest_age{");
  expect(text).toContain("gateway_webhook_in_flight 0");
});

/** Queues one delivery, and runs its job. */
async function throughQueue(telemetry: WebhookTelemetry, options: { fails?: boolean } = {}) {
  const { jobs, driver } = keepingQueue();
  // Without telemetry of its own, so that the spans are of the queue alone.
  const handlers = inbox({ driver, telemetry });
  const receiver = createWebhookReceiver({ secret: TEST_SECRET, logger: false, handlers });
  await receiver.receive(await alarmDelivery(1));
  const new_alarm = () => {
    if (options.fails === true) throw new RetryLater({ reason: "made up" });
  };
  const work = calledWorker({ handlers: { new_alarm }, telemetry, logger: false });
  await work(jobs[0], { attempt: options.fails === true ? 15 : 1 });
  return jobs[0];
}

it('with linkJobs "parent" a job is in the trace of its delivery', async () => {
  await throughQueue(telemetryOf({ linkJobs: "parent" }));
  const send = named("send queue").spanContext();
  const work = named("process new_alarm");
  expect(work.parentSpanContext?.spanId).toBe(send.spanId);
  expect(work.spanContext().traceId).toBe(send.traceId);
  expect(work.links).toEqual([]);
});

it("without spans a job carries nothing, and jobs are counted", async () => {
  const job = await throughQueue(telemetryOf({ spans: false }), { fails: true });
  expect(job).not.toHaveProperty("trace");
  expect(sdk.spans()).toEqual([]);
  const series = parsePrometheus(await sdk.prometheusText());
  expect(series.get('gateway_webhook_jobs_dead_total{type="new_alarm"}')).toBe(1);
  expect(series.get('gateway_webhook_jobs_total{outcome="handled",type="new_alarm"}')).toBe(0);
});

it("a dead job's span has the outcome as error.type", async () => {
  await throughQueue(telemetryOf(), { fails: true });
  expect(named("process new_alarm").attributes["error.type"]).toBe("dead");
});
