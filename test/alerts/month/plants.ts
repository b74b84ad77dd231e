import { UnreadableBody, type WebhookRequest } from "../../../src/delivery/request.js";
import { memoryStore, type DeliveryStore, type WebhookResponse } from "../../../src/index.js";
import type { VirtualClock } from "../../../kit/index.js";
import { throwing } from "../../support/faults.js";
import { changeFor } from "../rules.js";
import type { App, Deployment, GatewayWebhook } from "./app.js";

/** A failure of the month: from nine in the morning of its day, for eight hours unless it says otherwise. */
export interface Plant {
  readonly title: string;
  /** The alert that must fire; for `GatewayWebhookCheckFailed` also the job that must fail. */
  readonly alert: string;
  readonly from?: number;
  readonly hours?: number;
  /** Plants it. Returns its cure. */
  readonly plant: (app: App, clock: VirtualClock) => () => void;
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
  (app) =>
    changeFor(partOf(app), change);

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
const slowStore: Plant["plant"] = (app, clock) => {
  const slowed = (store: DeliveryStore): DeliveryStore => ({
    ...store,
    claim: async (...args) => clock.sleep(1_500).then(() => store.claim(...args)),
    complete: async (...args) => clock.sleep(1_500).then(() => store.complete(...args)),
  });
  return deployed({ store: slowed })(app, clock);
};

const CONSUMED = new UnreadableBody("body_consumed", 0);

/** The first replica restarts each ten minutes. */
const RESTARTING: Pick<Plant, "eachMinute"> = {
  eachMinute: ({ replicas: [first] }, minute) => {
    if (minute % 10 === 0) first?.deploy({});
  },
};

/** An answer of a proxy. */
const answerOf = (status: number, body: string) =>
  ({ status, headers: {}, body, outcome: "handled" }) as WebhookResponse;

/** Counts the requests of which each second, third or fifth fails. */
let turn = 0;

/** A failure, the alert that must fire, without its `GatewayWebhook`, and how it is planted. */
type Row = readonly [string, string, Plant["plant"], Pick<Plant, "from" | "hours" | "eachMinute">?];

/** One failure a day for the app with two replicas, from a Monday on. */
const OF_RECEIVER: readonly Row[] = [
  [
    "a wrong secret after a deploy in the evening, until the morning",
    "NotAuthentic",
    deployed({ secret: OLD_SECRET }),
    { from: 18, hours: 14 },
  ],
  ["one of two replicas has an old secret", "NotAuthentic", deployed({ secret: OLD_SECRET }, 1)],
  ["a proxy drops X-Webhook-Timestamp", "NotAuthentic", withHeader("x-webhook-timestamp")],
  ["the clock of one replica is ten minutes off", "ClockOff", deployed({ clockOffMs: 600_000 }, 1)],
  ["a body parser in front", "BodyConsumed", changing(() => ({ body: CONSUMED }))],
  ["one of two replicas is down", "ReplicaDown", down],
  [
    "a webhook is switched off at the gateway",
    "CheckFailed check",
    (app, clock) => {
      const cures = [ofAlarms, ofEvents].map((of) => of({ isActive: false })(app, clock));
      return () => cures.forEach((cure) => cure());
    },
  ],
  ["the store is down", "StoreFailing", deployed({ store: (own) => ({ ...own, claim: failing }) })],
  ["the store takes 1.5 s", "StoreFailing", slowStore],
  ["handlers take 12 s", "HandlerSlow", working({ takesMs: 12_000 })],
  [
    "the handler fails for one event type",
    "HandlerFailing",
    working({ fails: (type) => type === "DATA_REAPPEARED" }),
  ],
  [
    "a proxy loses each fifth answer",
    "AnswerLost",
    behind(async (request, pass) => {
      const answer = await pass(request);
      if (turn++ % 5 === 0) throw new Error("connection reset");
      return answer;
    }),
  ],
  ["a replica restarts each ten minutes", "ReplicaDown", () => () => undefined, RESTARTING],
  [
    "a proxy answers each third delivery 200 itself",
    "CheckFailed",
    behind((request, pass) =>
      turn++ % 3 === 0 && request.method !== "GET"
        ? Promise.resolve(answerOf(200, "ok"))
        : pass(request),
    ),
  ],
];

/** And one for the app with one replica. */
const OF_SECOND: readonly Row[] = [
  ["a proxy drops X-Webhook-Signature", "NotAuthentic", withHeader("x-webhook-signature")],
  ["the app is gone while another one lives", "Silent", down],
  ["one type vanishes", "Silent", ofEvents({ isSending: false }), { hours: 14 }],
  ["a proxy sets X-Webhook-Type", "PartlyRefused", withHeader("x-webhook-type", "webhook")],
  ["deliveries are larger than maxBodyBytes", "PartlyRefused", deployed({ maxBodyBytes: 200 })],
  [
    "the route is gone: 404",
    "CheckFailed check",
    behind(() => Promise.resolve(answerOf(404, "<html>"))),
  ],
  [
    "the URL of a webhook is changed at the gateway",
    "CheckFailed check",
    ofAlarms({ url: "https://old.example/webhooks" }),
  ],
  ["the secret function is down", "StoreFailing", deployed({ secret: throwing(new Error("x")) })],
  ["senders hang up", "AnswerLost", changing(() => ({ isDisconnected: () => turn++ % 3 === 0 }))],
  ["nothing arrives: a firewall", "Silent", behind(() => Promise.reject(new Error("timed out")))],
  ["handlers ask for each delivery again", "HandlerFailing", working({ asksAgain: true })],
  ["the gateway has a new event type", "UnknownType", ofEvents({ eventType: "SITE_VANISHED" })],
  [
    "the store is too small for its ids",
    "StoreForgets",
    deployed({ store: () => memoryStore({ maxEntries: 3 }) }),
  ],
  ["handlers swallow their errors", "CheckFailed reconcile", working({ swallows: true })],
];

const plantOf = ([title, alert, plant, more]: Row): Plant => ({
  title,
  alert: `GatewayWebhook${alert}`,
  plant,
  ...more,
});

export const PLANTS = { receiver: OF_RECEIVER.map(plantOf), second: OF_SECOND.map(plantOf) };
