import {
  createWebhookReceiver,
  type HealthReasonCode,
  type ReceiverHealth,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from "../../src/index.js";
import { alarm, delivery, NOW_MS, onlineDataEvent, TEST_SECRET } from "./deliveries.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What `send` sends. By default a signed alarm with a new id. */
export interface Sent {
  readonly id?: string;
  readonly type?: string;
  readonly secret?: string;
  /** How far the signed timestamp is off, in milliseconds. */
  readonly offMs?: number;
  readonly record?: Record<string, unknown>;
  readonly body?: string;
  readonly request?: Partial<WebhookRequest>;
  /** Headers that are changed after signing; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A signed Online Data event. */
export const EVENT: Sent = {
  type: "delete_my_data_event",
  body: JSON.stringify({ event: onlineDataEvent("DATA_DELETED") }),
};

/** A receiver with a clock that the test sets, and a sender. */
export class Monitored {
  readonly receiver: WebhookReceiver;
  /** What the handler does; it may be changed at any time. */
  handler: () => unknown = () => undefined;
  /** The receiver's clock. */
  nowMs = NOW_MS;
  #sent = 0;

  constructor(options: Partial<WebhookReceiverOptions> = {}) {
    this.receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => this.nowMs,
      handlers: { new_alarm: () => this.handler() },
      ...options,
    } as WebhookReceiverOptions);
  }

  /** Sends one request. Resolves to its outcome. */
  async send({ offMs = 0, record, body, request, headers, ...rest }: Sent = {}): Promise<string> {
    this.#sent += 1;
    const created_at = new Date(this.nowMs).toISOString();
    const signed = await delivery({
      id: `delivery-${String(this.#sent)}`,
      timestamp: Math.floor((this.nowMs + offMs) / 1000),
      body: body ?? JSON.stringify({ alarm: alarm({ created_at, ...record }) }),
      ...rest,
    });
    const changed = { ...signed, headers: { ...signed.headers, ...headers }, ...request };
    return (await this.receiver.receive(changed)).outcome;
  }

  /** Sends a number of requests, one after the other. */
  async sendMany(times: number, sent: Sent = {}): Promise<void> {
    for (let time = 0; time < times; time += 1) await this.send(sent);
  }

  pass({ minutes = 0, hours = 0 }: { minutes?: number; hours?: number }): void {
    this.nowMs += minutes * MINUTE_MS + hours * HOUR_MS;
  }

  health(): ReceiverHealth {
    return this.receiver.health();
  }

  codes(): readonly HealthReasonCode[] {
    return this.health().reasons.map(({ code }) => code);
  }
}
