import {
  createGatewayTwin,
  sampleAlarm,
  sampleOnlineDataEvent,
  TEST_SECRET,
  type VirtualClock,
} from "../../../kit/index.js";
import type { WebhookReceiver } from "../../../src/index.js";

interface WebhookOptions {
  readonly id: string;
  readonly type: "new_alarm" | "delete_my_data_event";
  readonly url: string;
  readonly receive: WebhookReceiver["receive"];
  readonly clock: VirtualClock;
}

interface Attempt {
  readonly deliveryId: string;
  readonly status: number | undefined;
  readonly at: Date;
}

/** The gateway keeps as much of the history. */
const KEPT_MS = 3 * 86_400_000;

/** A webhook as the gateway knows it, and its sender with the gateway's retries. */
export class GatewayWebhook {
  readonly #options: WebhookOptions;
  #twin: ReturnType<typeof createGatewayTwin>;
  #attempts: Attempt[] = [];
  isActive = true;
  isSending = true;
  url: string;
  /** The type of the events that it sends, if it is a new one. */
  eventType: string | undefined;

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.url = options.url;
    this.#twin = this.#newTwin(TEST_SECRET);
  }

  get id(): string {
    return this.#options.id;
  }

  /** The stored attempts. */
  get attempts(): readonly Attempt[] {
    const from = this.#options.clock.now() - KEPT_MS;
    this.#attempts = this.#attempts.filter(({ at }) => at.getTime() >= from);
    return this.#attempts;
  }

  /** Sends one record. `times`: how often the gateway sends it. */
  send(seed: number, times = 1): void {
    if (!this.isSending || !this.isActive || this.url !== this.#options.url) return;
    const { type, clock } = this.#options;
    const created_at = new Date(clock.now()).toISOString();
    const event = sampleOnlineDataEvent(
      seed % 2 === 0 ? "DATA_DELETED" : "DATA_REAPPEARED",
      {},
      { seed },
    );
    const sent =
      type === "new_alarm"
        ? { alarm: { ...sampleAlarm({}, { seed }), created_at } }
        : { event: { ...event, type: this.eventType ?? event.type } };
    void this.#twin.deliver(sent, { times });
  }

  /** The record that the gateway's list shows. */
  record(): object {
    const { id, type } = this.#options;
    return {
      id,
      type,
      title: type,
      url: this.url,
      has_secret: true,
      is_active: this.isActive,
      skip_ssl_verification: false,
      enable_requests_history: true,
    };
  }

  #newTwin(secret: string): ReturnType<typeof createGatewayTwin> {
    const { receive, clock, id } = this.#options;
    return createGatewayTwin({
      target: { receive },
      secret,
      clock,
      seed: Number(id) + this.url.length,
      onAttempt: ({ id: deliveryId, status, at }) =>
        this.#attempts.push({ deliveryId, status, at }),
    });
  }
}
