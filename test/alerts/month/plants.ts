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
  /** In how many minutes it must fire. */
  readonly within: number;
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

/** Several at once. */
const all =
  (...plants: readonly Plant["plant"][]): Plant["plant"] =>
  (app, clock) => {
    const cures = plants.map((plant) => plant(app, clock));
    return () => cures.forEach((cure) => cure());
  };

/** All replicas but the last are down. */
const mostDown: Plant["plant"] = ({ replicas }) => {
  const lost = replicas.slice(0, -1);
  for (const replica of lost) replica.isUp = false;
  return () => {
    for (const replica of lost) {
      replica.isUp = true;
      replica.deploy({});
    }
  };
};

/** A stranger posts eight forgeries a minute, each with an id of its own. */
const STRANGER: Pick<Plant, "eachMinute"> = {
  eachMinute: (app, minute) => {
    for (let post = 0; post < 8; post++) void app.forge(`${minute}-${post}`);
  },
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

/** A failure, the alert that must fire, without its `GatewayWebhook`, in how many minutes, and how it is planted. */
type Row = readonly [
  title: string,
  alert: string,
  within: number,
  plant: Plant["plant"],
  more?: Pick<Plant, "from" | "hours" | "eachMinute">,
];

/** One failure a day for the app with two replicas, from a Monday on. */
const OF_RECEIVER: readonly Row[] = [
  [
    "a wrong secret after a deploy in the evening, until the morning",
    "NotAuthentic",
    30,
    deployed({ secret: OLD_SECRET }),
    { from: 18, hours: 14 },
  ],
  [
    "one of two replicas has an old secret",
    "PartlyRefused",
    60,
    deployed({ secret: OLD_SECRET }, 1),
  ],
  ["a proxy drops X-Webhook-Timestamp", "NotAuthentic", 30, withHeader("x-webhook-timestamp")],
  [
    "the clock of one replica is ten minutes off",
    "ClockOff",
    30,
    deployed({ clockOffMs: 600_000 }, 1),
  ],
  ["a body parser in front", "BodyConsumed", 15, changing(() => ({ body: CONSUMED }))],
  ["one of two replicas is down", "ReplicaDown", 15, down],
  [
    "both webhooks are switched off at the gateway",
    "CheckFailed check",
    45,
    all(ofAlarms({ isActive: false }), ofEvents({ isActive: false })),
  ],
  [
    "the store is down",
    "StoreFailing",
    15,
    deployed({ store: (own) => ({ ...own, claim: failing }) }),
  ],
  ["the store takes 1.5 s", "StoreFailing", 30, slowStore],
  ["handlers take 12 s", "HandlerSlow", 30, working({ takesMs: 12_000 })],
  [
    "the handler fails for one event type",
    "HandlerFailing",
    60,
    working({ fails: (type) => type === "DATA_REAPPEARED" }),
  ],
  [
    "a proxy loses each fifth answer",
    "AnswerLost",
    60,
    behind(async (request, pass) => {
      const answer = await pass(request);
      if (turn++ % 5 === 0) throw new Error("connection reset");
      return answer;
    }),
  ],
  ["a replica restarts each ten minutes", "ReplicaDown", 60, () => () => undefined, RESTARTING],
  [
    "a proxy answers each third delivery 200 itself",
    "CheckFailed reconcile",
    480,
    behind((request, pass) =>
      turn++ % 3 === 0 && request.method !== "GET"
        ? Promise.resolve(answerOf(200, "ok"))
        : pass(request),
    ),
  ],
];

/** And one for the app with one replica. */
const OF_SECOND: readonly Row[] = [
  ["a proxy drops X-Webhook-Signature", "NotAuthentic", 30, withHeader("x-webhook-signature")],
  ["the app is gone while another one lives", "Silent", 15, down],
  ["one type vanishes", "Silent", 780, ofEvents({ isSending: false }), { hours: 14 }],
  [
    "nothing arrives: a firewall",
    "Silent",
    240,
    behind(() => Promise.reject(new Error("timed out"))),
  ],
  ["a proxy sets X-Webhook-Type", "PartlyRefused", 60, withHeader("x-webhook-type", "webhook")],
  [
    "deliveries are larger than maxBodyBytes",
    "PartlyRefused",
    180,
    deployed({ maxBodyBytes: 200 }),
  ],
  [
    "the route is gone: 404",
    "CheckFailed check",
    45,
    behind(() => Promise.resolve(answerOf(404, "<html>"))),
  ],
  [
    "the URL of a webhook is changed at the gateway",
    "CheckFailed check",
    45,
    ofAlarms({ url: "https://old.example/webhooks" }),
  ],
  [
    "the secret function is down",
    "StoreFailing",
    15,
    deployed({ secret: throwing(new Error("x")) }),
  ],
  [
    "senders hang up",
    "AnswerLost",
    60,
    changing(() => ({ isDisconnected: () => turn++ % 3 === 0 })),
  ],
  ["handlers ask for each delivery again", "HandlerFailing", 30, working({ asksAgain: true })],
  [
    "all events are of a new type",
    "TypeLost",
    120,
    ofEvents({ change: { type: "SITE_VANISHED" } }),
  ],
  [
    "the store is too small for its ids",
    "StoreForgets",
    120,
    deployed({ store: () => memoryStore({ maxEntries: 3 }) }),
  ],
  ["handlers swallow their errors", "CheckFailed reconcile", 480, working({ swallows: true })],
];

/** And one for the app with three replicas. */
const OF_THIRD: readonly Row[] = [
  [
    "all alarms come without account_id",
    "TypeLost",
    75,
    ofAlarms({ change: { account_id: undefined } }),
  ],
  ["a deploy discards all deliveries", "TypeLost", 240, working({ discards: true })],
  ["a deploy loses the handler of alarms", "TypeLost", 15, deployed({ lacks: "new_alarm" })],
  [
    "a deploy loses the handler of one event type",
    "UnknownType",
    120,
    deployed({ lacks: "DATA_DELETED" }),
  ],
  [
    "one of three replicas has an old secret",
    "PartlyRefused",
    60,
    deployed({ secret: OLD_SECRET }, 1),
  ],
  ["two of three replicas are down", "ReplicaDown", 15, mostDown],
  [
    "the gateway's API is unreachable",
    "CheckNotDone",
    45,
    changed((app) => app.jobs, { reachGateway: false }),
  ],
  [
    "the jobs by the clock have stopped",
    "CheckNotDone",
    180,
    changed((app) => app.jobs, { run: false }),
  ],
  [
    "a proxy changes the bodies",
    "NotAuthentic",
    30,
    changing(() => ({ body: new TextEncoder().encode("{}") })),
  ],
  [
    "a redirect turns deliveries into GET",
    "NotAuthentic",
    30,
    changing(() => ({ method: "GET", body: "" })),
  ],
  ["the handlers fail for all", "HandlerFailing", 30, working({ fails: () => true })],
  [
    "the handlers fail for longer than the gateway tries",
    "DeliveryLost",
    480,
    working({ fails: () => true }),
    { hours: 10 },
  ],
  [
    "the store takes no completion",
    "StoreFailing",
    30,
    deployed({ store: (own) => ({ ...own, complete: failing }) }),
  ],
  [
    "alarms have a severity that is not documented",
    "UnknownType",
    30,
    ofAlarms({ change: { severity: "Critical" } }),
  ],
];

/** And one for the app with four replicas and one alarm a day, at ten in the morning. */
const OF_LOW: readonly Row[] = [
  [
    "a wrong secret at one delivery a day, while a stranger posts forgeries",
    "NotAuthentic",
    180,
    deployed({ secret: OLD_SECRET }),
    STRANGER,
  ],
  [
    "the alarm of the day comes without account_id",
    "TypeLost",
    90,
    ofAlarms({ change: { account_id: undefined } }),
  ],
  [
    "the route is gone at one delivery a day",
    "CheckFailed check",
    45,
    behind(() => Promise.resolve(answerOf(404, ""))),
  ],
  [
    "the webhook is switched off at one delivery a day",
    "CheckFailed check",
    45,
    ofAlarms({ isActive: false }),
  ],
  ["the handler fails at one delivery a day", "HandlerFailing", 75, working({ fails: () => true })],
];

const plantOf = ([title, alert, within, plant, more]: Row): Plant => ({
  title,
  alert: `GatewayWebhook${alert}`,
  within,
  plant,
  ...more,
});

export const PLANTS = {
  receiver: OF_RECEIVER.map(plantOf),
  second: OF_SECOND.map(plantOf),
  third: OF_THIRD.map(plantOf),
  low: OF_LOW.map(plantOf),
};
