import http from "node:http";
import { onTestFinished } from "vitest";
import { nodeHandler } from "../../../adapters/node.js";
import {
  createWebhookReceiver,
  memoryStore,
  type OutcomeReport,
  type WebhookReceiver,
} from "../../../src/index.js";
import {
  createManagementClient,
  crmLogin,
  type ManagementClient,
} from "../../../src/management/index.js";
import {
  createGatewayApi,
  createScaledClock,
  type GatewayApi,
  type GatewayApiOptions,
} from "../../../kit/index.js";
import type { SigningReceiverOptions } from "../receiver-options.js";
import { listen } from "../servers.js";

/** What a test opens. It is closed at the end of the test. */
export const desk = {
  /** A gateway over HTTP, an hour of whose retries take a second, with a client that is logged in. */
  async gateway(options: GatewayApiOptions = {}): Promise<DeskGateway> {
    const api = createGatewayApi({ clock: createScaledClock(3_600), ...options });
    const { url: baseUrl } = await api.listen();
    onTestFinished(() => api.close());
    const token = async () => (await crmLogin({ baseUrl, credentials: { user: "partner" } })).token;
    return { api, baseUrl, client: createManagementClient({ baseUrl, token, retryDelayMs: 1 }) };
  },

  /** A receiver over HTTP. Its handlers count, and `store` may be shared. */
  async receiver(options: Partial<SigningReceiverOptions> = {}): Promise<DeskReceiver> {
    const handled: string[] = [];
    const reports: OutcomeReport[] = [];
    const count = (_record: unknown, { id }: { id: string }) => {
      handled.push(id);
    };
    const receiver = createWebhookReceiver({
      secret: "the-secret-of-no-one",
      handlers: { new_alarm: count, delete_my_data_event: count },
      store: memoryStore(),
      logger: false,
      onOutcome: (report) => reports.push(report),
      ...options,
    });
    const server = await this.server(nodeHandler(receiver));
    return { receiver, handled, reports, ...server };
  },

  /** A server on a free port. */
  async server(
    listener: http.RequestListener,
  ): Promise<{ url: string; close: () => Promise<void> }> {
    const server = http.createServer(listener);
    const { port, close } = await listen(server);
    let closed: Promise<void> | undefined;
    const end = () => {
      closed ??= close();
      server.closeAllConnections();
      return closed;
    };
    onTestFinished(end);
    return { url: `http://127.0.0.1:${String(port)}/webhooks/gateway`, close: end };
  },
};

/** A gateway with a client. */
export interface DeskGateway {
  readonly api: GatewayApi;
  readonly baseUrl: string;
  readonly client: ManagementClient;
}

/** A receiver, and what it did. */
export interface DeskReceiver {
  readonly receiver: WebhookReceiver;
  readonly url: string;
  readonly handled: readonly string[];
  readonly reports: readonly OutcomeReport[];
  readonly close: () => Promise<void>;
}
