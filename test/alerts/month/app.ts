import type { VirtualClock } from "../../../kit/twin/virtual-clock.js";
import {
  createGatewayTwin,
  sampleAlarm,
  sampleOnlineDataEvent,
  TEST_SECRET,
} from "../../../kit/index.js";
import type { WebhookRequest } from "../../../src/delivery/request.js";
import {
  attemptReader,
  checkWebhooks,
  createManagementClient,
  reconcileDeliveries,
} from "../../../src/management/index.js";
import {
  createWebhookReceiver,
  DiscardDelivery,
  memoryStore,
  metricsText,
  RetryLater,
} from "../../../src/index.js";
import type { DeliveryStore, WebhookReceiver, WebhookResponse } from "../../../src/index.js";
import type { Recording } from "../recording.js";
import { RULES } from "../rules.js";

/** What is wrong with a deployment. */
export interface Deployment {
  readonly secret?: string | (() => never);
  readonly clockOffMs?: number;
  readonly maxBodyBytes?: number;
  readonly store?: (store: DeliveryStore) => DeliveryStore;
  /** A webhook type or an event type that has no handler. */
  readonly lacks?: string;
}

type Receive = (request: WebhookRequest) => Promise<WebhookResponse>;

const NAMES = new Set(RULES.match(/\bgateway_webhook_\w+/g));
const DAY_MS = 86_400_000;
/** A Monday, 0:00 UTC. */
export const START_MS = Date.UTC(2026, 5, 1);

/** An app of a partner: its replicas, what is in front of them, and its two webhooks at the gateway. */
export class App {
  readonly url: string;
  readonly alarms: GatewayWebhook;
  readonly events: GatewayWebhook;
  readonly replicas: Replica[];
  readonly #clock: VirtualClock;
  /** What a proxy in front does with a request. */
  proxy: (request: WebhookRequest, pass: Receive) => Promise<WebhookResponse> = (request, pass) =>
    pass(request);
  /** What handlers do at the moment. */
  readonly work = {
    takesMs: 0,
    fails: (type: string): boolean => type === "",
    asksAgain: false,
    discards: false,
    swallows: false,
  };
  /** The jobs that run by the clock. */
  readonly jobs = { run: true, reachGateway: true };
  /** Ids that the partner's own tables have. */
  readonly handledIds = new Set<string>();
  readonly store: DeliveryStore;
  #turn = 0;

  constructor(
    readonly job: string,
    clock: VirtualClock,
    instances: readonly string[],
  ) {
    this.#clock = clock;
    this.url = `https://${job}.example/webhooks`;
    this.store = memoryStore({ now: clock.now });
    this.replicas = instances.map((instance) => new Replica(this, instance, clock));
    const receive: Receive = (request) => this.proxy(request, (passed) => this.#balance(passed));
    const shared = { url: this.url, receive, clock };
    this.alarms = new GatewayWebhook({ id: "1", type: "new_alarm", ...shared });
    this.events = new GatewayWebhook({ id: "2", type: "delete_my_data_event", ...shared });
    this.deploy({});
  }

  /** Replaces all replicas. Their metrics begin at 0. */
  deploy(deployment: Deployment): void {
    for (const replica of this.replicas) replica.deploy(deployment);
  }

  /** Sends a request to the replicas in turn, as a load balancer does, past those that are down. */
  async #balance(request: WebhookRequest): Promise<WebhookResponse> {
    const running = this.replicas.filter(({ isUp }) => isUp);
    const replica = running[this.#turn++ % running.length];
    if (replica === undefined) throw new Error("connection refused");
    return replica.receiver.receive(request);
  }

  /** A stranger's request. */
  async forge(id: string): Promise<void> {
    await this.#balance(forgery(this.#clock.now(), id));
  }

  /** What each replica exports now. */
  scrape(recording: Recording): void {
    for (const replica of this.replicas) replica.scrape(recording, this.job);
  }

  /** Runs `webhooks check` or `webhooks reconcile`, and records its exit code. */
  async runJob(command: "check" | "reconcile", recording: Recording): Promise<void> {
    if (!this.jobs.run) return;
    const client = createManagementClient({
      baseUrl: "https://gateway.example",
      token: "t",
      fetch: (url, init) => this.#answerGateway(new Request(url, init)),
    });
    const work = command === "check" ? this.#check(client) : this.#reconcile(client);
    const code = await work.then(
      (isWell) => (isWell ? 0 : 1),
      () => 4,
    );
    const at = { job: "node", instance: this.job, command };
    recording.set("gateway_webhook_check_exit_code", code, at);
    const finished = (this.#clock.now() - START_MS) / 1000;
    recording.set("gateway_webhook_check_finished_seconds", finished, at);
  }

  async #check(client: ReturnType<typeof createManagementClient>): Promise<boolean> {
    const { findings } = await checkWebhooks(client, {
      url: this.url,
      secret: TEST_SECRET,
      now: this.#clock.now,
      fetch: async (url, init) => {
        const request = new Request(url, init);
        const headers = Object.fromEntries(request.headers);
        const { method } = request;
        const sent = { method, headers, body: new Uint8Array(await request.arrayBuffer()) };
        const answer = await this.proxy(sent, (passed) => this.#balance(passed));
        return new Response(answer.body, { status: answer.status, headers: answer.headers });
      },
    });
    return findings.length === 0;
  }

  async #reconcile(client: ReturnType<typeof createManagementClient>): Promise<boolean> {
    const report = await reconcileDeliveries(client, {
      url: this.url,
      since: new Date(this.#clock.now() - DAY_MS),
      now: this.#clock.now,
      readAttempt: attemptReader({ deliveryId: "deliveryId", status: "status", at: "at" }),
      isCompleted: (id) => this.handledIds.has(id),
    });
    const { missing, withoutHistory } = report;
    return !missing.some(({ isGivenUp }) => isGivenUp) && withoutHistory.length === 0;
  }

  /** The gateway's routes, as far as the two jobs use them. */
  async #answerGateway({ url }: Request): Promise<Response> {
    if (!this.jobs.reachGateway) throw new TypeError("fetch failed");
    const [, id] = /\/webhook\/(\w+)\/requests$/.exec(url) ?? [];
    const webhooks = [this.alarms, this.events];
    const found = webhooks.find((webhook) => webhook.id === id);
    const data = found?.attempts ?? webhooks.map((webhook) => webhook.record());
    return Promise.resolve(Response.json({ data }));
  }
}

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
const KEPT_MS = 3 * DAY_MS;

/** A webhook as the gateway knows it, and its sender with the gateway's retries. */
export class GatewayWebhook {
  readonly #options: WebhookOptions;
  readonly #twin: ReturnType<typeof createGatewayTwin>;
  #attempts: Attempt[] = [];
  isActive = true;
  isSending = true;
  url: string;
  /** Members that its records have in place of the documented ones. */
  change: object = {};

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.url = options.url;
    const { receive, clock, id, url } = options;
    this.#twin = createGatewayTwin({
      target: { receive },
      secret: TEST_SECRET,
      clock,
      seed: Number(id) + url.length,
      onAttempt: ({ id: deliveryId, status, at }) =>
        this.#attempts.push({ deliveryId, status, at }),
    });
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
    const eventType = seed % 2 === 0 ? "DATA_DELETED" : "DATA_REAPPEARED";
    const event = sampleOnlineDataEvent(eventType, {}, { seed });
    const sent =
      type === "new_alarm"
        ? { alarm: { ...sampleAlarm({}, { seed }), created_at, ...this.change } }
        : { event: { ...event, ...this.change } };
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
}

/** One process of an app. */
class Replica {
  isUp = true;
  receiver!: WebhookReceiver;
  #text = "";
  /** The health at each scrape. */
  readonly health: string[] = [];

  constructor(
    readonly app: App,
    readonly instance: string,
    readonly clock: VirtualClock,
  ) {}

  deploy(deployment: Deployment): void {
    const { secret = TEST_SECRET, clockOffMs = 0, maxBodyBytes, store, lacks } = deployment;
    const { app, clock } = this;
    const handle = async (id: string, type: string): Promise<void> => {
      const { takesMs, fails, asksAgain, discards, swallows } = app.work;
      if (takesMs > 0) await clock.sleep(takesMs);
      if (asksAgain) throw new RetryLater();
      if (discards) throw new DiscardDelivery();
      if (fails(type)) throw new Error("a planted failure");
      if (!swallows) app.handledIds.add(id);
    };
    this.receiver = createWebhookReceiver({
      secret,
      store: store?.(app.store) ?? app.store,
      logger: false,
      now: () => clock.now() + clockOffMs,
      ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
      handlers: {
        ...(lacks !== "new_alarm" && { new_alarm: (_alarm, { id }) => handle(id, "new_alarm") }),
        ...(lacks !== "delete_my_data_event" && {
          delete_my_data_event: {
            ...(lacks !== "DATA_DELETED" && {
              DATA_DELETED: (_event, { id }) => handle(id, "DATA_DELETED"),
            }),
            DATA_REAPPEARED: (_event, { id }) => handle(id, "DATA_REAPPEARED"),
          },
        }),
      },
    });
    metricsText(this.receiver); // the histograms measure from here on
  }

  scrape(recording: Recording, job: string): void {
    const { instance, isUp } = this;
    const { status, reasons } = this.receiver.health();
    this.health.push(isUp ? [status, ...reasons.map(({ code }) => code)].join(" ") : "gone");
    const text = isUp ? metricsText(this.receiver) : "";
    if (text !== "" && text === this.#text) return;
    this.#text = text;
    recording.remove("instance", instance);
    recording.set("up", isUp ? 1 : 0, { job, instance });
    if (!isUp) return;
    readMetrics(text, recording, { job, instance });
  }
}

/** Sets what a receiver exports, as far as the rules name it. */
export function readMetrics(
  text: string,
  recording: Recording,
  { job, instance }: { readonly job: string; readonly instance: string },
): void {
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value] = /^(\w+)(?:\{(.*)\})? (.+)$/.exec(line) ?? [];
    if (!isNamed(name)) continue;
    const own: Record<string, string> = { job, instance };
    for (const [, key = "", text = ""] of labels.matchAll(/(\w+)="([^"]*)"/g)) own[key] = text;
    // Only these bounds stand in a rule.
    if (own["le"] !== undefined && own["le"] !== "1" && own["le"] !== "10") continue;
    // promtool's clock begins at 0.
    const isTime = Number(value) * 1000 >= START_MS;
    recording.set(name, Number(value) - (isTime ? START_MS / 1000 : 0), own);
  }
}

/** What someone posts who knows what a delivery looks like, but no secret. */
export function forgery(nowMs: number, id: string) {
  const headers = {
    "content-type": "application/json",
    "x-webhook-id": `forged-${id}`,
    "x-webhook-type": "new_alarm",
    "x-webhook-timestamp": String(Math.floor(nowMs / 1000)),
    "x-webhook-signature": `v1=${"0".repeat(64)}`,
  };
  return { method: "POST", headers, body: "{}" };
}

/** Whether the rules name a metric. */
function isNamed(name: string): boolean {
  const base = name.replace(/_seconds(?=$|_)/, "").replace(/_(bucket|count)$/, "");
  return name.startsWith("gateway_webhook") && (NAMES.has(name) || NAMES.has(base));
}
