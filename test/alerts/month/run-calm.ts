import { createRandom } from "../../../kit/random.js";
import {
  sampleAlarm,
  sampleOnlineDataEvent,
  signedDelivery,
  TEST_SECRET,
} from "../../../kit/index.js";
import {
  createWebhookReceiver,
  DiscardDelivery,
  memoryStore,
  metricsText,
  type WebhookReceiver,
} from "../../../src/index.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../../src/records/online-data-event.js";
import { firedIn } from "../prometheus.js";
import { DAY, HOUR, Recording } from "../recording.js";
import { forgery, readMetrics, START_MS } from "./app.js";

/** Deliveries a day. */
const VOLUMES = [1, 3, 30, 300, 8_000];
const DAYS = 28;
/** Minutes between two scrapes. */
const EVERY = 5;
const REPLICAS = ["a", "b", "c", "d"];
/** A Tuesday with the traffic of a Sunday, and the night before it with a burst: each has two weeks before it. */
const HOLIDAY = 15;
const BURST = 14 * DAY + 3 * HOUR;
/** From a Friday to a Tuesday. */
const STRANGER = { from: 18 * DAY, to: 23 * DAY };

/** What a month without a failure raised at one volume. */
export type CalmMonth = Awaited<ReturnType<typeof runCalm>>[number];

/**
 * A month of an app with four replicas at each volume. It discards half of its alarms, and handles one of the seven
 * event types: both on purpose.
 */
export async function runCalm() {
  const recording = new Recording([]);
  const apps = VOLUMES.map((volume, seed) => new CalmApp(volume, seed));
  for (let minute = 0; minute < DAYS * DAY; minute++) {
    for (const app of apps) await app.minute(minute);
    if (minute % EVERY !== 0) continue;
    for (const app of apps) app.scrape(minute, recording);
    recording.scrape();
  }
  // promtool refuses a query over the whole month.
  const days = Array.from({ length: DAYS }, (_, day) => ({ from: day * DAY, to: (day + 1) * DAY }));
  const fired = firedIn(recording, EVERY, days).flat();
  return apps.map(({ job, perDay, sent }) => {
    const own = fired.filter(({ labels }) => labels["job"] === job || labels["instance"] === job);
    const namesOf = (severity: string) => [
      ...new Set(
        own
          .filter(({ labels }) => labels["severity"] === severity)
          .map(({ labels }) => labels["alertname"] ?? ""),
      ),
    ];
    const [critical, warnings] = [namesOf("critical"), namesOf("warning")];
    return { perDay, deliveries: sent, critical, warnings };
  });
}

/** Busy days, quiet weekends and a holiday, little at night, and a burst in one. */
function rateOf(minute: number, perDay: number): number {
  const day = Math.floor(minute / DAY);
  const hour = Math.floor((minute % DAY) / HOUR);
  const burst = minute >= BURST && minute < BURST + HOUR ? Math.max(perDay, 30) / HOUR : 0;
  const part = day % 7 >= 5 || day === HOLIDAY ? 0.3 : 1;
  return (perDay * part * (hour >= 8 && hour < 20 ? 0.075 : 0.0083)) / HOUR + burst;
}

class CalmApp {
  readonly perDay: number;
  readonly job: string;
  #nowMs = START_MS;
  readonly #random: ReturnType<typeof createRandom>;
  readonly #store = memoryStore({ now: () => this.#nowMs });
  readonly #replicas = REPLICAS.map(() => ({ receiver: this.#start(), text: "" }));
  sent = 0;

  constructor(perDay: number, seed: number) {
    this.perDay = perDay;
    this.job = `calm-${perDay}`;
    this.#random = createRandom(seed + 1);
  }

  #start(): WebhookReceiver {
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      store: this.#store,
      logger: false,
      now: () => this.#nowMs,
      handlers: {
        new_alarm: ({ id }) => {
          if (id % 2 === 0) throw new DiscardDelivery();
        },
        delete_my_data_event: { DATA_REAPPEARED: () => undefined },
      },
    });
    metricsText(receiver); // the histograms measure from here on
    return receiver;
  }

  /** A load balancer's choice. */
  #receive(request: Parameters<WebhookReceiver["receive"]>[0]) {
    return this.#random.pick(this.#replicas).receiver.receive(request);
  }

  async minute(minute: number): Promise<void> {
    this.#nowMs = START_MS + minute * 60_000;
    const random = this.#random;
    // Each working day a deployment, one replica after the other.
    const replica = this.#replicas[(minute % DAY) / 5 - 120];
    if (replica !== undefined && Math.floor(minute / DAY) % 7 < 5) replica.receiver = this.#start();
    const rate = rateOf(minute, this.perDay);
    const count = Math.floor(rate) + (random.fraction() < rate % 1 ? 1 : 0);
    for (let sent = 0; sent < count; sent++) await this.#deliver();
    for (let post = 0; post < 8 && minute >= STRANGER.from && minute < STRANGER.to; post++) {
      this.#nowMs += 7_500;
      // Each other request has the same id.
      await this.#receive(forgery(this.#nowMs, post % 2 === 0 ? "same" : `${minute}-${post}`));
    }
  }

  async #deliver(): Promise<void> {
    const random = this.#random;
    const seed = this.sent++;
    const timestamp = Math.floor(this.#nowMs / 1000);
    const created_at = new Date(this.#nowMs).toISOString();
    const event = () => sampleOnlineDataEvent(random.pick(ONLINE_DATA_EVENT_TYPES), {}, { seed });
    const request = await signedDelivery({
      secret: TEST_SECRET,
      timestamp,
      ...(random.chance(8)
        ? { event: event() }
        : { alarm: { ...sampleAlarm({}, { seed }), id: seed + 1, created_at } }),
    });
    for (let time = random.chance(150) ? 2 : 1; time > 0; time--) await this.#receive(request);
  }

  scrape(minute: number, recording: Recording): void {
    for (const [at, replica] of this.#replicas.entries()) {
      const source = { job: this.job, instance: `${this.job}-${REPLICAS[at] ?? ""}` };
      const text = metricsText(replica.receiver);
      if (text === replica.text) continue;
      replica.text = text;
      recording.set("up", 1, source);
      readMetrics(text, recording, source);
    }
    // One run of each day finds a replica that a deployment has just stopped; the gateway's API is down on a Sunday.
    const isFound = minute % DAY >= 10 * HOUR && minute % DAY < 10 * HOUR + 15;
    const isDown = minute >= 13 * DAY && minute < 13 * DAY + 3 * HOUR;
    const job = { job: "node", instance: this.job, command: "check" };
    recording.set("gateway_webhook_check_exit_code", isDown ? 4 : Number(isFound), job);
  }
}
