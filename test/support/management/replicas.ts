import type { IncomingMessage, ServerResponse } from "node:http";
import { nodeHandler } from "../../../adapters/node.js";
import {
  createWebhookReceiver,
  memoryStore,
  metricsText,
  type OutcomeReport,
} from "../../../src/index.js";
import { desk } from "./desk.js";

/** Starts replicas that all have `secret`. Each names itself in the header x-instance. */
export async function startReplicas(count: number, secret: string) {
  /** The secrets of each replica. Change them as a deploy does. */
  const secrets = Array.from({ length: count }, () => [secret]);
  const handled: string[] = [];
  const reports: OutcomeReport[] = [];
  const store = memoryStore();
  const note = (_record: unknown, { id }: { id: string }) => void handled.push(id);
  const replicas = secrets.map((_list, at) => {
    const receiver = createWebhookReceiver({
      secret: () => secrets[at],
      handlers: { new_alarm: note, delete_my_data_event: note },
      store,
      logger: false,
      onOutcome: (report) => reports.push(report),
    });
    const handle = nodeHandler(receiver);
    return (req: IncomingMessage, res: ServerResponse): void => {
      res.setHeader("x-instance", `replica-${String(at)}`);
      if (req.url === "/metrics") res.end(metricsText(receiver));
      else void handle(req, res);
    };
  });
  let turn = 0;
  const balancer = await desk.server((req, res) => replicas[turn++ % count]?.(req, res));
  const own = await Promise.all(replicas.map((replica) => desk.server(replica)));
  /** The URL of the metrics of each replica. */
  const metrics = own.map(({ url }) => new URL("/metrics", url).href);
  return { url: balancer.url, metrics, secrets, handled, reports };
}
