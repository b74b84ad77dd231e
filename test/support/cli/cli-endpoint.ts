import http from "node:http";
import { nodeHandler } from "../../../adapters/node.js";
import { createWebhookReceiver, type OutcomeReport } from "../../../src/index.js";
import { TEST_SECRET } from "../deliveries.js";
import { freePort } from "../free-port.js";
import { listen } from "../servers.js";

/** A request that an endpoint received. */
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

/** An endpoint that reports its requests. */
interface AnsweringEndpoint extends Endpoint {
  /** Calls `listener` with the number of requests so far, before each answer. */
  readonly onRequest: (listener: (count: number) => void) => void;
}

/** An endpoint with fixed answers, one per request. The last one repeats. */
export async function answeringEndpoint(
  ...answers: { status: number; body?: string }[]
): Promise<AnsweringEndpoint> {
  const seen: SeenRequest[] = [];
  let told: (count: number) => void = () => undefined;
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { method = "", rawHeaders } = req;
      seen.push({ method, rawHeaders, body: Buffer.concat(chunks).toString() });
      told(seen.length);
      const { status, body = "" } = answers[Math.min(seen.length, answers.length) - 1] ?? {
        status: 500,
      };
      res.writeHead(status).end(body);
    });
  });
  return {
    ...(await opened(server)),
    seen,
    onRequest(listener) {
      told = listener;
    },
  };
}

/** A receiver of this library with the test secret, and how often it has handled each id. */
export async function receivingEndpoint(
  unverifiable: "retry" | "reject" = "retry",
  timestampToleranceMs?: number,
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
    timestampToleranceMs,
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

/** A URL with no listener. */
export async function silentUrl(): Promise<string> {
  return `http://127.0.0.1:${String(await freePort())}/webhooks/gateway`;
}
