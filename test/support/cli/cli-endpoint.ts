import http from "node:http";
import { nodeHandler } from "../../../adapters/node.js";
import { createWebhookReceiver, type OutcomeReport } from "../../../src/index.js";
import { deferred } from "../deferred.js";
import { TEST_SECRET } from "../deliveries.js";
import { freePort } from "../free-port.js";
import { createLedger } from "../ledger.js";
import type { SigningReceiverOptions } from "../receiver-options.js";
import { serving } from "../serving.js";

/** An endpoint with fixed answers, one per request. The last one repeats. It closes at the end of its test. */
export async function answeringEndpoint(...answers: { status: number; body?: string }[]) {
  const seen: { method: string; rawHeaders: readonly string[]; body: string }[] = [];
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
    url: await endpointOf(server),
    /** The requests that it received. */
    seen,
    /** Calls `listener` with the number of requests so far, before each answer. */
    onRequest: (listener: typeof told) => {
      told = listener;
    },
  };
}

/**
 * A receiver of this library with the test secret and every probe of `doctor`: it counts what it handled, and its
 * handler fails or is slow on request.
 */
export async function receivingEndpoint(options: Partial<SigningReceiverOptions> = {}) {
  const ledger = createLedger();
  const reports: OutcomeReport[] = [];
  const count = (_record: unknown, context: { readonly id: string }) => ledger.record(context);
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: count, delete_my_data_event: count },
    // Shorter than the ledger's slow handler takes.
    handlerTimeoutMs: 150,
    logger: false,
    onOutcome: (report) => reports.push(report),
    ...options,
  });
  const handle = nodeHandler(receiver);
  const switches = { failing: ledger.whileFailing, slow: ledger.whileSlow };
  const on = new Map<string, { readonly end: () => void; readonly ended: Promise<void> }>();
  const turn = async (name: keyof typeof switches, way: string) => {
    if (way === "on") {
      const over = deferred();
      on.set(name, { end: over.resolve, ended: switches[name](() => over.promise) });
      return;
    }
    on.get(name)?.end();
    await on.get(name)?.ended;
    on.delete(name);
  };
  const server = http.createServer((req, res) => {
    const [, probed] = /^\/handled\/(.+)$/.exec(req.url ?? "") ?? [];
    const [, name, way = ""] = /^\/(failing|slow)\/(on|off)$/.exec(req.url ?? "") ?? [];
    if (probed !== undefined) res.end(String(ledger.handled(decodeURIComponent(probed))));
    else if (name === undefined) handle(req, res);
    else if (req.method !== "POST") res.writeHead(405).end();
    else void turn(name as keyof typeof switches, way).then(() => res.writeHead(204).end());
  });
  const url = await endpointOf(server);
  const { origin } = new URL(url);
  const probes = ["failing", "slow"].flatMap((name) =>
    ["on", "off"].flatMap((way) => [`--while-${name}-${way}`, `${origin}/${name}/${way}`]),
  );
  return {
    url,
    /** The outcome of each request. */
    outcomes: () => reports.map(({ outcome }) => outcome),
    /** The options of `doctor` that name the probes. */
    probes: ["--handled", `${origin}/handled/{id}`, ...probes],
    /** The switches that are on. */
    switchedOn: () => [...on.keys()],
  };
}

async function endpointOf(server: http.Server): Promise<string> {
  return `${await serving(server)}webhooks/gateway`;
}

/** A URL with no listener. */
export async function silentUrl(): Promise<string> {
  return `http://127.0.0.1:${String(await freePort())}/webhooks/gateway`;
}
