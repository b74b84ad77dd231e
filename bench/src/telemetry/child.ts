import type { MetricReader as Reader } from "@opentelemetry/sdk-metrics";
import * as core from "identity-gateway-webhooks";
import type { WebhookTelemetry, WebhookReceiver } from "identity-gateway-webhooks";
import { pathToFileURL } from "node:url";
import { bodyOf, SECRET } from "../deliveries.js";
import { reply } from "../fresh-process.js";
import { asynchronous } from "../in-process/cases.js";
import { gatewayDelivery } from "../in-process/contenders.js";
import { measureRounds, medianOf, ratioOf } from "../rounds.js";
import type { PairRequest, PairResult, Variant } from "./variants.js";

type Core = typeof core;

const { variant, rounds, before } = JSON.parse(process.argv[2] ?? "{}") as PairRequest;
const BATCH = 500;
const WARM_UP_ROUNDS = 40;

/** Loads only what a variant needs: the SDK makes some functions of Node slower for all. */
async function makerOf(name: Variant): Promise<() => WebhookReceiver> {
  switch (name) {
    case "nothing":
      return () => receiverOf(core);
    case "before": {
      const index = pathToFileURL(`${String(before)}/dist/index.js`).href;
      const old = (await import(index)) as Core;
      return () => receiverOf(old);
    }
    case "text":
      return () => {
        const receiver = receiverOf(core);
        core.metricsText(receiver);
        return receiver;
      };
    case "byHand": {
      const { byHand, metrics } = await telemetryOf();
      return () => byHand(receiverOf(core, metrics()));
    }
    case "noop": {
      const { openTelemetry } = await import("identity-gateway-webhooks/opentelemetry");
      const telemetry = openTelemetry();
      return () => receiverOf(core, telemetry);
    }
    case "metrics": {
      const telemetry = (await telemetryOf()).metrics();
      return () => receiverOf(core, telemetry);
    }
    default: {
      const telemetry = (await telemetryOf()).spans();
      return () => receiverOf(core, telemetry);
    }
  }
}

const handlers = { new_alarm: handle, delete_my_data_event: handle };
let handled: unknown;
/** Stores a record, so that the compiler cannot optimize its creation away. */
function handle(record: unknown): void {
  handled = record;
}

function receiverOf(
  { createWebhookReceiver }: Core,
  telemetry?: WebhookTelemetry,
): WebhookReceiver {
  return createWebhookReceiver({ secret: SECRET, handlers, telemetry });
}

/** What the SDK of a user runs: spans in batches, and an exporter that drops them. */
async function telemetryOf() {
  const { openTelemetry } = await import("identity-gateway-webhooks/opentelemetry");
  const { MeterProvider, MetricReader } = await import("@opentelemetry/sdk-metrics");
  class SilentReader extends MetricReader {
    protected override onForceFlush = () => Promise.resolve();
    protected override onShutdown = () => Promise.resolve();
  }
  const { context, SpanKind, trace } = await import("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
  const { BasicTracerProvider, BatchSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void) => {
      done({ code: 0 });
    },
    shutdown: () => Promise.resolve(),
  };
  const meterProvider = () => new MeterProvider({ readers: [new SilentReader() as Reader] });
  const tracerProvider = () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    return new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  };
  return {
    metrics: () => openTelemetry({ meterProvider: meterProvider(), spans: false }),
    spans: () =>
      openTelemetry({ meterProvider: meterProvider(), tracerProvider: tracerProvider() }),
    /** The receiver in a span with the attributes that `openTelemetry` gives it. */
    byHand(receiver: WebhookReceiver): WebhookReceiver {
      const tracer = tracerProvider().getTracer("by hand");
      return {
        ...receiver,
        receive(request) {
          const headers = request.headers as Readonly<Record<string, string>>;
          const type = headers["x-webhook-type"] ?? "";
          const attributes = {
            "messaging.system": "identity_gateway",
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.destination.template": type,
            "messaging.message.id": headers["x-webhook-id"],
            "messaging.message.body.size": (request.body as string).length,
            "gateway_webhook.type": type,
          };
          const parent = context.active();
          const options = { kind: SpanKind.CONSUMER, attributes };
          const span = tracer.startSpan(`process ${type}`, options, parent);
          return context.with(trace.setSpan(parent, span), async () => {
            const answer = await receiver.receive(request);
            span.setAttributes({
              "gateway_webhook.outcome": answer.outcome,
              "gateway_webhook.secret_index": 0,
              "http.response.status_code": answer.status,
            });
            span.end();
            return answer;
          });
        },
      };
    },
  };
}

async function caseOf(name: Variant) {
  const make = await makerOf(name);
  const body = bodyOf("1 KB");
  let receiver = make();
  return asynchronous(
    name,
    BATCH,
    () => gatewayDelivery(body),
    async (delivery) => {
      const { outcome } = await receiver.receive(delivery);
      return outcome === "handled" && handled !== undefined;
    },
    () => {
      receiver = make();
    },
  );
}

const base = variant === "spansToByHand" ? "byHand" : "nothing";
const cases = [await caseOf(base), await caseOf(variant)];
const samples = await measureRounds(cases, { rounds, warmUp: WARM_UP_ROUNDS });
const result: PairResult = {
  ratio:
    variant === "before" ? 1 / ratioOf(samples, variant, base) : ratioOf(samples, variant, base),
  baseNs: medianOf(samples, base),
  ownNs: medianOf(samples, variant),
};
reply(result);
