// A Worker's receiver, which writes a point to Workers Analytics Engine for each request.
import { createWebhookReceiver } from "identity-gateway-webhooks";

/** As `env` of cloudflare:workers has it. */
declare const env: {
  readonly GATEWAY_WEBHOOK_SECRET: string;
  readonly METRICS: {
    writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void;
  };
};

export const receiver = createWebhookReceiver({
  secret: env.GATEWAY_WEBHOOK_SECRET,
  handlers: { new_alarm: (alarm) => console.log(alarm.id) },
  onOutcome({ outcome, type = "none", status, durationMs, attempt = 0 }) {
    env.METRICS.writeDataPoint({
      indexes: [outcome],
      blobs: [outcome, type],
      doubles: [status, durationMs, attempt],
    });
  },
});
