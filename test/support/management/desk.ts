import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { nodeHandler } from "../../../adapters/node.js";
import {
  createScaledClock,
  createGatewayApi,
  sampleAlarm,
  type GatewayApi,
  type GatewayApiOptions,
  type TwinDelivery,
} from "../../../kit/index.js";
import { pause } from "../../../src/common/timers.js";
import {
  createWebhookReceiver,
  memoryStore,
  metricsText,
  type OutcomeReport,
  type WebhookType,
} from "../../../src/index.js";
import { createManagementClient, crmLogin } from "../../../src/management/index.js";
import type { SigningReceiverOptions } from "../receiver-options.js";
import { listenHttp } from "../servers.js";

/** A gateway with a client. */
export type DeskGateway = Awaited<ReturnType<(typeof desk)["gateway"]>>;

/** What a test opens. It is closed at the end of the test. */
export const desk = {
  /** A gateway over HTTP, an hour of whose retries take a second, with a client that is logged in. */
  async gateway(options: GatewayApiOptions = {}) {
    const api = createGatewayApi({ clock: createScaledClock(3_600), ...options });
    const { url: baseUrl } = await api.listen();
    onTestFinished(() => api.close());
    const token = async () => (await crmLogin({ baseUrl, credentials: { user: "partner" } })).token;
    const client = createManagementClient({ baseUrl, token, retryDelayMs: 1 });
    return {
      api,
      baseUrl,
      client,
      /** Creates a webhook. */
      register: (url: string, secret: string, type: WebhookType = "new_alarm") =>
        client.webhooks.create({ title: "a", url, type, secret }),
      /** Delivers an alarm to the first webhook for it. */
      deliver: async (): Promise<TwinDelivery> => {
        const [delivery] = await api.twin.deliver({ alarm: sampleAlarm() });
        if (delivery === undefined) throw new Error("no webhook is registered");
        return delivery;
      },
      /** The environment of a command that is logged in. */
      environment: async (secret: string) => ({
        GATEWAY_BASE_URL: baseUrl,
        GATEWAY_CRM_TOKEN: await token(),
        GATEWAY_WEBHOOK_SECRET: secret,
      }),
    };
  },

  /** A receiver over HTTP. Its handlers count, and `store` may be shared. */
  async receiver(options: Partial<SigningReceiverOptions> = {}) {
    const counting = countingReceiver("the-secret-of-no-one", options);
    return { ...counting, ...(await this.server(nodeHandler(counting.receiver))) };
  },

  /** Starts replicas that all have `secret`. Each names itself in the header x-instance. */
  async replicas(count: number, secret: string) {
    /** The secrets of each replica. Change them as a deploy does. */
    const secrets = Array.from({ length: count }, () => [secret]);
    const store = memoryStore();
    const receivers = secrets.map((_list, at) => countingReceiver(() => secrets[at], { store }));
    const replicas = receivers.map(({ receiver }, at) => {
      const handle = nodeHandler(receiver);
      return (req: IncomingMessage, res: ServerResponse): void => {
        res.setHeader("x-instance", `replica-${String(at)}`);
        if (req.url === "/metrics") res.end(metricsText(receiver));
        else void handle(req, res);
      };
    });
    let turn = 0;
    const balancer = await this.server((req, res) => replicas[turn++ % count]?.(req, res));
    const own = await Promise.all(replicas.map((replica) => this.server(replica)));
    return {
      url: balancer.url,
      /** The URL of the metrics of each replica. */
      metrics: own.map(({ url }) => new URL("/metrics", url).href),
      secrets,
      handled: () => receivers.flatMap(({ handled }) => handled),
      reports: () => receivers.flatMap(({ reports }) => reports),
    };
  },

  /** A server on a free port. */
  async server(listener: http.RequestListener) {
    const { url, close } = await listenHttp(http.createServer(listener));
    let closed: Promise<void> | undefined;
    const end = () => (closed ??= close());
    onTestFinished(end);
    return { url: `${url}/webhooks/gateway`, close: end };
  },
};

/** A receiver whose handlers count. */
function countingReceiver(
  secret: SigningReceiverOptions["secret"],
  options: Partial<SigningReceiverOptions>,
) {
  const handled: string[] = [];
  const reports: OutcomeReport[] = [];
  const count = (_record: unknown, { id }: { id: string }) => void handled.push(id);
  const receiver = createWebhookReceiver({
    secret,
    handlers: { new_alarm: count, delete_my_data_event: count },
    store: memoryStore(),
    logger: false,
    onOutcome: (report) => reports.push(report),
    ...options,
  });
  return { receiver, handled, reports };
}

/** Delivers alarms through a gateway, a few at a time. */
export function startLoad(api: GatewayApi) {
  const deliveries: Promise<readonly TwinDelivery[]>[] = [];
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      deliveries.push(api.twin.deliver({ alarm: sampleAlarm() }));
      await pause(10);
    }
  };
  const running = run();
  return {
    /** Starts no more. Resolves to how all of them ended. */
    async stop() {
      isStopped = true;
      await running;
      return (await Promise.all(deliveries)).flat();
    },
  };
}
