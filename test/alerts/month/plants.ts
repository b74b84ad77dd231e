import { UnreadableBody, type WebhookRequest } from "../../../src/delivery/request.js";
import { memoryStore, type DeliveryStore } from "../../../src/index.js";
import type { VirtualClock } from "../../../kit/index.js";
import { throwing } from "../../support/faults.js";
import type { App, Deployment } from "./app.js";
import type { GatewayWebhook } from "./gateway-webhook.js";

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

const own = (status: number): Plant["plant"] =>
  behind(() =>
    Promise.resolve({ status, headers: {}, body: "<html>", outcome: "handled" } as never),
  );

let requests = 0;

/** One failure a day for the app with two replicas, from a Monday on. */
const OF_RECEIVER: readonly Plant[] = [
  {
    title: "a wrong secret after a deploy in the evening, until the morning",
    alert: "GatewayWebhookNotAuthentic",
    from: 18,
    hours: 14,
    plant: deployed({ secret: OLD_SECRET }),
  },
  {
    title: "one of two replicas has an old secret",
    alert: "GatewayWebhookNotAuthentic",
    plant: deployed({ secret: OLD_SECRET }, 1),
  },
  {
    title: "a proxy drops X-Webhook-Timestamp",
    alert: "GatewayWebhookNotAuthentic",
    plant: withHeader("x-webhook-timestamp"),
  },
  {
    title: "the clock of one replica is ten minutes off",
    alert: "GatewayWebhookClockOff",
    plant: deployed({ clockOffMs: 600_000 }, 1),
  },
  {
    title: "a body parser in front",
    alert: "GatewayWebhookBodyConsumed",
    plant: changing(() => ({ body: new UnreadableBody("body_consumed", 0) })),
  },
  { title: "one of two replicas is down", alert: "GatewayWebhookReplicaDown", plant: down },
  {
    title: "a webhook is switched off at the gateway",
    alert: "GatewayWebhookCheckFailed check",
    plant: (app, clock) => {
      const cures = [ofAlarms, ofEvents].map((of) => of({ isActive: false })(app, clock));
      return () => {
        for (const cure of cures) cure();
      };
    },
  },
  {
    title: "the store is down",
    alert: "GatewayWebhookStoreFailing",
    plant: deployed({ store: (store) => ({ ...store, claim: failing }) }),
  },
  {
    title: "the store takes 1.5 s",
    alert: "GatewayWebhookStoreFailing",
    plant: (app, clock) => deployed({ store: slowStore(clock) })(app, clock),
  },
  {
    title: "handlers take 12 s",
    alert: "GatewayWebhookHandlerSlow",
    plant: working({ takesMs: 12_000 }),
  },
  {
    title: "the handler fails for one event type",
    alert: "GatewayWebhookHandlerFailing",
    plant: working({ fails: (type) => type === "DATA_REAPPEARED" }),
  },
  {
    title: "a proxy loses each fifth answer",
    alert: "GatewayWebhookAnswerLost",
    plant: behind(async (request, pass) => {
      const answer = await pass(request);
      if (requests++ % 5 === 0) throw new Error("connection reset");
      return answer;
    }),
  },
  {
    title: "a replica restarts each ten minutes",
    alert: "GatewayWebhookReplicaDown",
    plant: () => () => undefined,
    eachMinute: ({ replicas: [first] }, minute) => {
      if (minute % 10 === 0) first?.deploy({});
    },
  },
  {
    title: "a proxy answers each third delivery 200 itself",
    alert: "GatewayWebhookCheckFailed",
    plant: behind((request, pass) =>
      requests++ % 3 === 0 && request.method !== "GET"
        ? Promise.resolve({ status: 200, headers: {}, body: "ok", outcome: "handled" } as never)
        : pass(request),
    ),
  },
];

/** And one for the app with one replica. */
const OF_SECOND: readonly Plant[] = [
  {
    title: "a proxy drops X-Webhook-Signature",
    alert: "GatewayWebhookNotAuthentic",
    plant: withHeader("x-webhook-signature"),
  },
  {
    title: "the app is gone while another one lives",
    alert: "GatewayWebhookSilent",
    plant: down,
  },
  {
    title: "one type vanishes",
    alert: "GatewayWebhookSilent",
    hours: 14,
    plant: ofEvents({ isSending: false }),
  },
  {
    title: "a proxy sets X-Webhook-Type",
    alert: "GatewayWebhookPartlyRefused",
    plant: withHeader("x-webhook-type", "webhook"),
  },
  {
    title: "deliveries are larger than maxBodyBytes",
    alert: "GatewayWebhookPartlyRefused",
    plant: deployed({ maxBodyBytes: 200 }),
  },
  { title: "the route is gone: 404", alert: "GatewayWebhookCheckFailed check", plant: own(404) },
  {
    title: "the URL of a webhook is changed at the gateway",
    alert: "GatewayWebhookCheckFailed check",
    plant: ofAlarms({ url: "https://old.example/webhooks" }),
  },
  {
    title: "the secret function is down",
    alert: "GatewayWebhookStoreFailing",
    plant: deployed({ secret: throwing(new Error("vault")) }),
  },
  {
    title: "senders hang up",
    alert: "GatewayWebhookAnswerLost",
    plant: changing(() => ({ isDisconnected: () => requests++ % 3 === 0 })),
  },
  {
    title: "nothing arrives: a firewall",
    alert: "GatewayWebhookSilent",
    plant: behind(() => Promise.reject(new Error("timed out"))),
  },
  {
    title: "handlers ask for each delivery again",
    alert: "GatewayWebhookHandlerFailing",
    plant: working({ asksAgain: true }),
  },
  {
    title: "the gateway has a new event type",
    alert: "GatewayWebhookUnknownType",
    plant: ofEvents({ eventType: "SITE_VANISHED" }),
  },
  {
    title: "the store is too small for its ids",
    alert: "GatewayWebhookStoreForgets",
    plant: deployed({ store: () => memoryStore({ maxEntries: 3 }) }),
  },
  {
    title: "handlers swallow their errors",
    alert: "GatewayWebhookCheckFailed reconcile",
    plant: working({ swallows: true }),
  },
];

export const PLANTS = { receiver: OF_RECEIVER, second: OF_SECOND } as const;
