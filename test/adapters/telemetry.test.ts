import { EventEmitter } from "node:events";
import { Server } from "node:net";
import { context, trace, type Span } from "@opentelemetry/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTelemetry } from "../../src/telemetry/opentelemetry/index.js";
import { adapterTargets } from "../support/adapters/adapter-targets.js";
import { directTarget } from "../support/adapters/target-kinds.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { enableContext, inMemorySdk } from "../support/telemetry/in-memory.js";

const sdk = inMemorySdk();
const { tracerProvider, meterProvider, tracer } = sdk;
/** One span for each request, as the HTTP instrumentation of OpenTelemetry makes it. */
const serverSpans: Span[] = [];
const emit = Reflect.get(EventEmitter.prototype, "emit") as (...args: unknown[]) => boolean;
let disable: () => void;

beforeAll(() => {
  disable = enableContext();
  EventEmitter.prototype.emit = function (this: EventEmitter, event, ...args: unknown[]) {
    const call = () => Reflect.apply(emit, this, [event, ...args]);
    if (event !== "request" || !(this instanceof Server)) return call();
    const span = tracer.startSpan("POST");
    serverSpans.push(span);
    return context.with(trace.setSpan(context.active(), span), call);
  };
});
afterAll(() => {
  EventEmitter.prototype.emit = emit;
  disable();
});

it.each([directTarget, ...adapterTargets])(
  "$name: the handler's span is a child of the server's span, and active in the handler",
  async (adapter) => {
    sdk.reset();
    serverSpans.length = 0;
    const active: (string | undefined)[] = [];
    const receiver = alarmReceiver(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        active.push(trace.getActiveSpan()?.spanContext().spanId);
      },
      { telemetry: openTelemetry({ tracerProvider, meterProvider }) },
    );
    const target = await adapter.open(receiver);
    const callers: Span[] = [];
    // The second one on a kept connection, where the server has one; both in chunks.
    for (const id of ["first", "second"]) {
      const { headers, body } = await delivery({ id });
      const caller = tracer.startSpan("caller");
      callers.push(caller);
      const { status } = await context.with(trace.setSpan(context.active(), caller), () =>
        target.send({
          method: "POST",
          headers: Object.entries(headers),
          body: Buffer.from(body),
          chunked: true,
        }),
      );
      expect(status).toBe(200);
    }
    await target.close();
    const parents = serverSpans.length === 0 ? callers : serverSpans;
    const spans = sdk.spans().filter(({ name }) => name === "process new_alarm");
    expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
      parents.map((span) => span.spanContext().spanId),
    );
    expect(active).toEqual(spans.map((span) => span.spanContext().spanId));
  },
);
