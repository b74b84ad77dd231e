// A function on a host with waitUntil, which sends its metrics after each answer.
import type { MeterProvider } from "@opentelemetry/api";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { openTelemetry } from "identity-gateway-webhooks/opentelemetry";

/** A MeterProvider of @opentelemetry/sdk-metrics: its PeriodicExportingMetricReader has an OTLPMetricExporter. */
declare const meterProvider: MeterProvider & { forceFlush(): Promise<void> };

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: { new_alarm: (alarm) => console.log(alarm.id) },
  telemetry: openTelemetry({ meterProvider, spans: false }),
});
const handle = fetchHandler(receiver);

export default {
  async fetch(request: Request, env: unknown, ctx: { waitUntil(work: Promise<unknown>): void }) {
    const answer = await handle(request, env, ctx);
    ctx.waitUntil(meterProvider.forceFlush().catch(console.error));
    return answer;
  },
};
