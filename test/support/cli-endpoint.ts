import http from "node:http";
import { nodeHandler } from "../../adapters/node.js";
import { createWebhookReceiver, type OutcomeReport } from "../../src/index.js";
import { TEST_SECRET } from "./deliveries.js";
import { listen } from "./servers.js";

/** A request as an endpoint has seen it. */
export interface SeenRequest {
  readonly method: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** An endpoint on this machine. */
export interface Endpoint {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  readonly close: () => Promise<void>;
}

/** An endpoint whose answers are told, one for each request; the last goes on for ever. */
export async function answeringEndpoint(
  ...answers: { status: number; body?: string }[]
): Promise<Endpoint> {
  const seen: SeenRequest[] = [];
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { method = "", rawHeaders } = req;
      seen.push({ method, rawHeaders, body: Buffer.concat(chunks).toString() });
      const { status, body = "" } = answers[Math.min(seen.length, answers.length) - 1] ?? {
        status: 500,
      };
      res.writeHead(status).end(body);
    });
  });
  return { ...(await opened(server)), seen };
}

/** A receiver of this library with the test secret, and how often it has handled each id. */
export async function receivingEndpoint(
  unverifiable: "retry" | "reject" = "retry",
): Promise<Endpoint & { readonly outcomes: () => readonly string[] }> {
  const runs = new Map<string, number>();
  const reports: OutcomeReport[] = [];
  const count = (_record: unknown, { id }: { id: string }): void => {
    runs.set(id, (runs.get(id) ?? 0) + 1);
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: count, delete_my_data_event: count },
    unverifiable,
    logger: false,
    onOutcome: (report) => reports.push(report),
  });
  const handle = nodeHandler(receiver);
  const server = http.createServer((req, res) => {
    const [, probed] = /^\/handled\/(.+)$/.exec(req.url ?? "") ?? [];
    if (probed === undefined) handle(req, res);
    else res.end(String(runs.get(probed) ?? 0));
  });
  const outcomes = () => reports.map(({ outcome }) => outcome);
  return { ...(await opened(server)), seen: [], outcomes };
}

async function opened(server: http.Server): Promise<Pick<Endpoint, "url" | "close">> {
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${String(port)}/webhooks/gateway`,
    close: () => {
      server.closeAllConnections();
      return close();
    },
  };
}

/** A URL at which nobody listens: the port was free a moment ago. */
export async function silentUrl(): Promise<string> {
  const { url, close } = await answeringEndpoint({ status: 200 });
  await close();
  return url;
}
