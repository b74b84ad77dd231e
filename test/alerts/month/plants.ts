import { UnreadableBody, type WebhookRequest } from "../../../src/delivery/request.js";
import { memoryStore, type DeliveryStore, type WebhookResponse } from "../../../src/index.js";
import type { VirtualClock } from "../../../kit/index.js";
import { throwing } from "../../support/faults.js";
import type { App, Deployment, GatewayWebhook } from "./app.js";

type Clock = VirtualClock;

/** A failure of the month: from nine in the morning of its day, for eight hours unless it says otherwise. */
export interface Plant {
  readonly title: string;
  /** The alert that must fire; for `GatewayWebhookCheckFailed` also the job that must fail. */
  readonly alert: string;
  readonly from?: number;
  readonly hours?: number;
  /** Plants it. Returns its cure. */
  readonly plant: (app: App, clock: Clock) => () => void;
  /** Called each minute while it lasts. */
  readonly eachMinute?: (app: App, minute: number) => void;
}

const OLD_SECRET = "whsec_of_another_webhook_01";

/** Deploys the first replicas, or all of them, with what is wrong. */
const deployed =
  (deployment: Deployment, count = Infinity): Plant["plant"] =>
  ({ replicas }) => {
    const deploy = (to: Deployment): void => {
      for (const replica of replicas.slice(0, count)) replica.deploy(to);
    };
    deploy(deployment);
    return () => deploy({});
  };

/** Changes members of a part of the app, which the cure sets back. */
const changed =
  <Part extends object>(partOf: (app: App) => Part, change: Partial<Part>): Plant["plant"] =>
  (app) => {
    const part = partOf(app);
    const before = { ...part };
    Object.assign(part, change);
    return () => {
      for (const name in change) part[name] = before[name];
    };
  };

const ofAlarms = (change: Partial<GatewayWebhook>) => changed((app) => app.alarms, change);
const ofEvents = (change: Partial<GatewayWebhook>) => changed((app) => app.events, change);
const working = (change: Partial<App["work"]>) => changed((app) => app.work, change);
const behind = (proxy: App["proxy"]) => changed<Pick<App, "proxy">>((app) => app, { proxy });

const changing = (change: (request: WebhookRequest) => Partial<WebhookRequest>): Plant["plant"] =>
  behind((request, pass) => pass({ ...request, ...change(request) }));

/** The headers with one changed; undefined removes it. */
const withHeader = (name: string, value?: string): Plant["plant"] =>
  changing(({ headers }) => {
    const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
    const kept = entries.filter(([key]) => key.toLowerCase() !== name);
    return { headers: Object.fromEntries(value === undefined ? kept : [...kept, [name, value]]) };
  });

/** The first replica is down. */
const down: Plant["plant"] = ({ replicas: [first] }) => {
  if (first) first.isUp = false;
  return () => {
    if (first) first.isUp = true;
    first?.deploy({});
  };
};

const failing = (): Promise<never> => Promise.reject(new Error("the database is down"));
const slowStore =
  (clock: Clock) =>
  (store: DeliveryStore): DeliveryStore => ({
    ...store,
    claim: async (...args) => clock.sleep(1_500).then(() => store.claim(...args)),
    complete: async (...args) => clock.sleep(1_500).then(() => store.complete(...args)),
  });

/** An answer of a proxy. */
const answerOf = (status: number, body: string) =>
  ({ status, headers: {}, body, outcome: "handled" }) as WebhookResponse;

let requests = 0;

/** A failure, and the alert that must fire, without its `GatewayWebhook`. */
const failure = (
  title: string,
  alert: string,
  plant: Plant["plant"],
  more: Pick<Plant, "from" | "hours" | "eachMinute"> = {},
): Plant => ({ title, alert: `GatewayWebhook${alert}`, plant, ...more });

/** One failure a day for the app with two replicas, from a Monday on. */
const OF_RECEIVER: readonly Plant[] = [
  failure(
    "a wrong secret after a deploy in the evening, until the morning",
    "NotAuthentic",
    deployed({ secret: OLD_SECRET }),
    { from: 18, hours: 14 },
  ),
  failure(
    "one of two replicas has an old secret",
    "NotAuthentic",
    deployed({ secret: OLD_SECRET }, 1),
  ),
  failure("a proxy drops X-Webhook-Timestamp", "NotAuthentic", withHeader("x-webhook-timestamp")),
  failure(
    "the clock of one replica is ten minutes off",
    "ClockOff",
    deployed({ clockOffMs: 600_000 }, 1),
  ),
  failure(
    "a body parser in front",
    "BodyConsumed",
    changing(() => ({ body: new UnreadableBody("body_consumed", 0) })),
  ),
  failure("one of two replicas is down", "ReplicaDown", down),
  failure("a webhook is switched off at the gateway", "CheckFailed check", (app, clock) => {
    const cures = [ofAlarms, ofEvents].map((of) => of({ isActive: false })(app, clock));
    return () => cures.forEach((cure) => cure());
  }),
  failure(
    "the store is down",
    "StoreFailing",
    deployed({ store: (store) => ({ ...store, claim: failing }) }),
  ),
  failure("the store takes 1.5 s", "StoreFailing", (app, clock) =>
    deployed({ store: slowStore(clock) })(app, clock),
  ),
  failure("handlers take 12 s", "HandlerSlow", working({ takesMs: 12_000 })),
  failure(
    "the handler fails for one event type",
    "HandlerFailing",
    working({ fails: (type) => type === "DATA_REAPPEARED" }),
  ),
  failure(
    "a proxy loses each fifth answer",
    "AnswerLost",
    behind(async (request, pass) => {
      const answer = await pass(request);
      if (requests++ % 5 === 0) throw new Error("connection reset");
      return answer;
    }),
  ),
  failure("a replica restarts each ten minutes", "ReplicaDown", () => () => undefined, {
    eachMinute: ({ replicas: [first] }, minute) => {
      if (minute % 10 === 0) first?.deploy({});
    },
  }),
  failure(
    "a proxy answers each third delivery 200 itself",
    "CheckFailed",
    behind((request, pass) =>
      requests++ % 3 === 0 && request.method !== "GET"
        ? Promise.resolve(answerOf(200, "ok"))
        : pass(request),
    ),
  ),
];

/** And one for the app with one replica. */
const OF_SECOND: readonly Plant[] = [
  failure("a proxy drops X-Webhook-Signature", "NotAuthentic", withHeader("x-webhook-signature")),
  failure("the app is gone while another one lives", "Silent", down),
  failure("one type vanishes", "Silent", ofEvents({ isSending: false }), { hours: 14 }),
  failure("a proxy sets X-Webhook-Type", "PartlyRefused", withHeader("x-webhook-type", "webhook")),
  failure(
    "deliveries are larger than maxBodyBytes",
    "PartlyRefused",
    deployed({ maxBodyBytes: 200 }),
  ),
  failure(
    "the route is gone: 404",
    "CheckFailed check",
    behind(() => Promise.resolve(answerOf(404, "<html>"))),
  ),
  failure(
    "the URL of a webhook is changed at the gateway",
    "CheckFailed check",
    ofAlarms({ url: "https://old.example/webhooks" }),
  ),
  failure(
    "the secret function is down",
    "StoreFailing",
    deployed({ secret: throwing(new Error("vault")) }),
  ),
  failure(
    "senders hang up",
    "AnswerLost",
    changing(() => ({ isDisconnected: () => requests++ % 3 === 0 })),
  ),
  failure(
    "nothing arrives: a firewall",
    "Silent",
    behind(() => Promise.reject(new Error("timed out"))),
  ),
  failure("handlers ask for each delivery again", "HandlerFailing", working({ asksAgain: true })),
  failure(
    "the gateway has a new event type",
    "UnknownType",
    ofEvents({ eventType: "SITE_VANISHED" }),
  ),
  failure(
    "the store is too small for its ids",
    "StoreForgets",
    deployed({ store: () => memoryStore({ maxEntries: 3 }) }),
  ),
  failure("handlers swallow their errors", "CheckFailed reconcile", working({ swallows: true })),
];

export const PLANTS = { receiver: OF_RECEIVER, second: OF_SECOND } as const;
