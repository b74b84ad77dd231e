import { context, createTraceState, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { RetryLater, type TransactionalStore } from "../../src/index.js";
import {
  openTelemetry,
  type OpenTelemetryOptions,
} from "../../src/telemetry/opentelemetry/index.js";
import {
  SPAN_ATTRIBUTES,
  readTraceParent,
  writeTraceParent,
} from "../../src/telemetry/opentelemetry/spans.js";
import type { TraceCarrier } from "../../src/telemetry/telemetry.js";
import { createRandom } from "../../kit/random.js";
import { alarmReceiver, heldHandler, type AlarmHandler } from "../support/alarm-receiver.js";
import { delivery, eventDelivery } from "../support/deliveries.js";
import { enableContext, inMemorySdk } from "../support/telemetry/in-memory.js";
import { personalAlarm, personOf, writtenAlarm } from "../support/testing/personal-alarms.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";
import { canariesIn, canaryEvent, CANARIES } from "../support/canaries.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";

const sdk = inMemorySdk();
const { tracerProvider, meterProvider } = sdk;
let disable: () => void;

beforeAll(() => {
  disable = enableContext();
});
afterAll(() => disable());
beforeEach(() => sdk.reset());

function tracedReceiver(
  handler: AlarmHandler = () => undefined,
  options: OpenTelemetryOptions = {},
  receiverOptions: Parameters<typeof alarmReceiver>[1] = {},
) {
  const telemetry = openTelemetry({ tracerProvider, meterProvider, ...options });
  return alarmReceiver(handler, { telemetry, ...receiverOptions });
}

const only = () => {
  expect(sdk.spans()).toHaveLength(1);
  const [span] = sdk.spans();
  if (span === undefined) throw new Error("no span");
  return span;
};

it("a handled delivery has a consumer span with the documented attributes", async () => {
  await tracedReceiver().receive(await delivery());
  const span = only();
  expect(span.name).toBe("process new_alarm");
  expect(span.kind).toBe(SpanKind.CONSUMER);
  expect(span.status.code).toBe(SpanStatusCode.UNSET);
  expect(span.attributes).toEqual({
    "messaging.system": "identity_gateway",
    "messaging.operation.type": "process",
    "messaging.operation.name": "process",
    "messaging.destination.template": "new_alarm",
    "messaging.message.id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "messaging.message.body.size": expect.any(Number) as number,
    "gateway_webhook.type": "new_alarm",
    "gateway_webhook.outcome": "handled",
    "gateway_webhook.secret_index": 0,
    "http.response.status_code": 200,
  });
});

it("a transactional store that runs its work again makes one span", async () => {
  const startSpan = vi.spyOn(sdk.tracer, "startSpan");
  const provider = { getTracer: () => sdk.tracer };
  const telemetry = openTelemetry({ tracerProvider: provider, meterProvider });
  let runs = 0;
  const store: TransactionalStore<string> = {
    async process(_key, work) {
      // As after a serialization failure.
      await work("first").catch(() => undefined);
      await work("second");
      return { state: "processed" };
    },
  };
  const failsOnce = () => {
    runs += 1;
    if (runs === 1) throw new Error("could not serialize access");
  };
  const receiver = transactionalReceiver(store, failsOnce, { telemetry });
  expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handled" });
  expect(runs).toBe(2);
  expect(startSpan).toHaveBeenCalledTimes(1);
  expect(only().attributes).toMatchObject({ "gateway_webhook.outcome": "handled" });
});

it("a delivery that was recovered is marked in its span, also if no handler ran", async () => {
  const receiver = tracedReceiver();
  const lost = { id: "lost", type: "new_alarm", body: (await delivery()).body };
  await recoverDelivery(receiver, lost);
  await recoverDelivery(receiver, lost);
  expect(sdk.spans().map(({ attributes }) => attributes)).toMatchObject([
    { "gateway_webhook.outcome": "handled", "gateway_webhook.recovered": true },
    { "gateway_webhook.outcome": "duplicate", "gateway_webhook.recovered": true },
  ]);
});

it("the span is a child of the active one and active in the handler, also after an await", async () => {
  const seen: (string | undefined)[] = [];
  const receiver = tracedReceiver(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    seen.push(trace.getActiveSpan()?.spanContext().spanId);
  });
  const server = sdk.tracer.startSpan("POST /webhooks");
  const request = await delivery();
  await context.with(trace.setSpan(context.active(), server), () => receiver.receive(request));
  const span = only();
  expect(span.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
  expect(seen).toEqual([span.spanContext().spanId]);
});

it("the tracestate of the writer goes through the job to its worker", () => {
  const traceState = createTraceState("vendor=abc");
  const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  const carrier: TraceCarrier = {};
  writeTraceParent(carrier, { ...ids, traceFlags: 1, traceState });
  expect(carrier.tracestate).toBe("vendor=abc");
  expect(readTraceParent(carrier)).toMatchObject(ids);
  expect(readTraceParent(carrier)?.traceState?.serialize()).toBe("vendor=abc");
});

it("a traceparent that the request brings is never used", async () => {
  const request = await delivery();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await tracedReceiver().receive({ ...request, headers: { ...request.headers, traceparent } });
  expect(only().parentSpanContext).toBeUndefined();
  expect(only().spanContext().traceId).not.toBe("0af7651916cd43dd8448eb211c80319c");
});

it("a flood of forged, unsigned and malformed requests makes no span", async () => {
  const receiver = tracedReceiver();
  const forged = await delivery({ secret: "another secret of 20" });
  for (let sent = 0; sent < 300; sent++) {
    await receiver.receive(forged);
    await receiver.receive({ method: "POST", headers: {}, body: "{}" });
    await receiver.receive({ method: "GET", headers: {}, body: "" });
  }
  expect(sdk.spans()).toEqual([]);
});

it("an authentic delivery without a handler run has a span from its arrival to its answer", async () => {
  const receiver = tracedReceiver();
  await receiver.receive(await delivery());
  sdk.reset();
  await receiver.receive(await delivery());
  expect(only().attributes).toMatchObject({
    "gateway_webhook.outcome": "duplicate",
    "messaging.destination.template": "new_alarm",
  });
  expect(only().duration[0] * 1e9 + only().duration[1]).toBeGreaterThan(0);
});

it("a failed delivery has the outcome as error.type, and nothing of the error", async () => {
  const receiver = tracedReceiver(() => {
    throw new Error(`no ${CANARIES.email}`);
  });
  await receiver.receive(await delivery());
  expect(only().status).toEqual({ code: SpanStatusCode.ERROR });
  expect(only().attributes["error.type"]).toBe("handler_failed");
  expect(only().events).toEqual([]);
});

it("with recordHandlerErrors the span has the error", async () => {
  const error = new Error("made up");
  const receiver = tracedReceiver(() => Promise.reject(error), { recordHandlerErrors: true });
  await receiver.receive(await delivery());
  expect(only().events[0]?.attributes?.["exception.message"]).toBe("made up");
});

it("a handler that ends late has a second span from the answer to its end", async () => {
  const { handler, start } = heldHandler();
  const receiver = tracedReceiver(handler, {}, { handlerTimeoutMs: 5 });
  const run = await start(receiver, await delivery());
  await run.answer;
  run.resolve();
  await receiver.drain();
  const [first, second] = sdk.spans();
  expect(first?.attributes).toMatchObject({ "error.type": "handler_timeout" });
  expect(second?.attributes).toMatchObject({
    "gateway_webhook.outcome": "handled",
    "gateway_webhook.late": true,
  });
  expect(second?.links.map((one) => one.context.spanId)).toEqual([first?.spanContext().spanId]);
  expect(second?.startTime).toEqual(first?.endTime);
});

it("1 000 personal alarms and events leave no personal value and no other attribute", async () => {
  const allowed = new Set<string>(Object.values(SPAN_ATTRIBUTES));
  const random = createRandom(17);
  const people: string[] = [];
  const receiver = tracedReceiver(() => {
    if (random.chance(4)) throw new RetryLater({ reason: CANARIES.email });
    if (random.chance(4)) throw new Error(people.at(-2));
  });
  for (let sent = 0; sent < 1_000; sent++) {
    const id = `delivery-${String(sent)}`;
    if (sent % 5 === 0) {
      const type = random.pick(["DATA_DELETED", CANARIES.unsignedType]);
      await receiver.receive(await eventDelivery(type, { id, event: canaryEvent(type) }));
      continue;
    }
    const person = personOf(random);
    people.push(...person);
    const body = writtenAlarm(random, personalAlarm(random, person));
    await receiver.receive(await delivery({ id, body }));
  }
  const { scopeMetrics } = await sdk.collect();
  const spans = sdk.spans().map(({ name, attributes, events, links, status }) => {
    expect(Object.keys(attributes).filter((key) => !allowed.has(key))).toEqual([]);
    return { name, attributes, events, links, status };
  });
  expect(spans).toHaveLength(1_000);
  const points = scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ dataPoints }) => dataPoints as { readonly attributes: object }[]),
  );
  const labels =
    "attempt event_type kind operation outcome reason secret_fingerprint secret_index type".split(
      " ",
    );
  const keys = new Set(points.flatMap(({ attributes }) => Object.keys(attributes)));
  expect([...keys].filter((key) => !labels.includes(key))).toEqual([]);
  const text = JSON.stringify([spans, scopeMetrics]);
  expect(canariesIn(text)).toEqual([]);
  expect(people.filter((datum) => text.includes(JSON.stringify(datum).slice(1, -1)))).toEqual([]);
  // The delivery id may be in a span, and in no metric.
  expect(JSON.stringify(scopeMetrics)).not.toContain("delivery-1");
});
