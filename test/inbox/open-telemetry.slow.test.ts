import { context, SpanKind, trace } from "@opentelemetry/api";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createWebhookReceiver, RetryLater, type WebhookTelemetry } from "../../src/index.js";
import { inbox, type QueueProducer } from "../../src/inbox/index.js";
import {
  openTelemetry,
  type OpenTelemetryOptions,
} from "../../src/telemetry/opentelemetry/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import { alarmDelivery, settlesAt, watchWorker } from "../support/inbox/receiver-and-worker.js";
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

/** A receiver whose telemetry measures its queue. */
function inboxReceiverWith(driver: QueueProducer, telemetry: WebhookTelemetry) {
  const handlers = inbox({ driver, telemetry });
  return createWebhookReceiver({ secret: TEST_SECRET, logger: false, handlers });
}

describeEachEngine((engine, name) => {
  afterEach(() => {
    sdk.reset();
  });

  it(`${name}: a worker's span is a new root that links to the span that wrote the job`, async () => {
    const telemetry = telemetryOf();
    const queue = await engine().open("linked");
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      telemetry,
      handlers: inbox({ driver: queue.enqueue, telemetry }),
    });
    const server = sdk.tracer.startSpan("POST");
    const delivery = await alarmDelivery(1);
    await context.with(trace.setSpan(context.active(), server), () => receiver.receive(delivery));
    let active: string | undefined;
    const handlers = {
      new_alarm: () => {
        active = trace.getActiveSpan()?.spanContext().spanId;
      },
    };
    const stop = queue.consume({ handlers, telemetry });
    await settlesAt(
      () => sdk.spans().map((span) => `${String(span.kind)} ${span.name}`),
      [
        `${String(SpanKind.PRODUCER)} send linked`,
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
      "messaging.destination.name": "linked",
      "gateway_webhook.outcome": "handled",
      "gateway_webhook.attempt": 1,
    });
    const series = parsePrometheus(await sdk.prometheusText());
    expect(series.get('gateway_webhook_jobs_total{outcome="handled",type="new_alarm"}')).toBe(1);
  });

  it(`${name}: the age of the oldest waiting job rises without a worker, and is 0 once all jobs have run`, async () => {
    const telemetry = telemetryOf();
    const queue = await engine().open("waiting");
    const receiver = inboxReceiverWith(queue.enqueue, telemetry);
    const oldestAge = async (): Promise<number | undefined> => {
      const series = parsePrometheus(await sdk.prometheusText());
      return series.get('gateway_webhook_jobs_oldest_age{queue="waiting"}');
    };
    await receiver.receive(await alarmDelivery(1));
    await expect.poll(oldestAge).toBeGreaterThan(0);
    const first = (await oldestAge()) ?? Infinity;
    await receiver.receive(await alarmDelivery(2));
    await expect.poll(oldestAge).toBeGreaterThan(first);
    const { stop } = watchWorker(queue, () => undefined);
    await expect.poll(oldestAge).toBe(0);
    await stop();
  });

  it(`${name}: the jobs that wait and those that are dead are counted`, async () => {
    const telemetry = telemetryOf();
    const queue = await engine().open("counted", { retryLimit: 0 });
    const receiver = inboxReceiverWith(queue.enqueue, telemetry);
    const counts = async () => {
      const series = parsePrometheus(await sdk.prometheusText());
      return ["waiting", "dead"].map((state) =>
        series.get(`gateway_webhook_jobs_queued{queue="counted",state="${state}"}`),
      );
    };
    for (const account of [1, 2]) await receiver.receive(await alarmDelivery(account));
    await settlesAt(counts, [2, 0]);
    const { stop } = watchWorker(queue, () => Promise.reject(new Error("made up")));
    await settlesAt(counts, [0, 2]);
    await stop();
  });
});

it("an export asks a queue once, and a number that the engine does not know has no series", async () => {
  const telemetry = telemetryOf();
  let calls = 0;
  const waiting = () => Promise.resolve({ dead: (calls += 1) });
  inboxReceiverWith({ name: "half", put: () => Promise.resolve(), waiting }, telemetry);
  const text = await sdk.prometheusText();
  expect(text).toContain('gateway_webhook_jobs_queued{queue="half",state="dead"} 1');
  expect(text).not.toMatch(/oldest_age\{|state="waiting"/);
  expect(calls).toBe(1);
});

it("a queue whose engine does not answer has no age, and the other metrics are exported", async () => {
  const telemetry = telemetryOf();
  const waiting = () => Promise.reject(new Error("made up"));
  const driver = { name: "down", put: () => Promise.resolve(), waiting };
  const handlers = inbox({ driver, telemetry });
  createWebhookReceiver({ secret: TEST_SECRET, logger: false, handlers, telemetry });
  const text = await sdk.prometheusText();
  expect(text).not.toContain("oldest_age{");
  expect(text).toContain("gateway_webhook_in_flight 0");
});

/** Queues one delivery, and runs its job. */
async function throughQueue(telemetry: WebhookTelemetry, options: { fails?: boolean } = {}) {
  const jobs: object[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    handlers: inbox({ driver: { put: (job) => Promise.resolve(jobs.push(job)) }, telemetry }),
  });
  await receiver.receive(await alarmDelivery(1));
  const new_alarm = (): void => {
    if (options.fails === true) throw new RetryLater({ reason: "made up" });
  };
  const work = calledWorker({ handlers: { new_alarm }, telemetry, logger: false });
  await work(jobs[0], { attempt: options.fails === true ? 15 : 1 });
  return jobs[0];
}

it('with linkJobs "parent" a job belongs to the trace of its delivery', async () => {
  await throughQueue(telemetryOf({ linkJobs: "parent" }));
  const send = named("send queue").spanContext();
  const work = named("process new_alarm");
  expect(work.parentSpanContext?.spanId).toBe(send.spanId);
  expect(work.spanContext().traceId).toBe(send.traceId);
  expect(work.links).toEqual([]);
});

it("a job carries the place of the span that wrote it, and no baggage", async () => {
  const job = await throughQueue(telemetryOf());
  const { traceId, spanId } = named("send queue").spanContext();
  expect(job).toMatchObject({ trace: { traceparent: `00-${traceId}-${spanId}-01` } });
  expect(Object.keys((job as { trace: object }).trace)).toEqual(["traceparent"]);
});

it("without spans a job carries nothing, and jobs are counted all the same", async () => {
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
