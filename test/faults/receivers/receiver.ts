// One of the four receivers. ../harness/fleet.ts starts and kills it. It prints its port. Its handlers stop failing
// when a line arrives on standard input; with "jump", its clock jumps by so many milliseconds instead. "replay" is for
// inbox-receiver.ts.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import type { WebhookReceiver } from "identity-gateway-webhooks";
import type { LambdaHandler } from "identity-gateway-webhooks/aws-lambda";
import { openLedger, watchStalls } from "./ledger.js";
import { isProcessOff, type ReceiverConfig } from "./receiver-config.js";
import { createWork, type MakeReceiver } from "./work.js";

let offMs = 0;

/** Shifts the wall clock of this process by so much more, for the library and for its drivers. */
function shiftClock(byMs: number): void {
  const isShifted = offMs !== 0;
  offMs += byMs;
  if (byMs === 0 || isShifted) return;
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [target.now() + offMs] : args,
        newTarget,
      ) as Date,
    apply: () => new RealDate(RealDate.now() + offMs).toString(),
    get: (target, name, receiver): unknown =>
      name === "now" ? () => target.now() + offMs : Reflect.get(target, name, receiver),
  });
}

/** Mounts the receiver by the adapter of the mode. Loads only what it needs. */
async function listenerOf(
  receiver: WebhookReceiver,
  { adapter, flaw }: ReceiverConfig,
): Promise<RequestListener> {
  switch (adapter ?? "node") {
    case "node": {
      const { nodeHandler } = await import("identity-gateway-webhooks/node");
      return nodeHandler(receiver);
    }
    case "fetch": {
      const { fetchHandler } = await import("identity-gateway-webhooks/fetch");
      const { getRequestListener } = await import("@hono/node-server");
      const handle = fetchHandler(receiver);
      return voided(getRequestListener((request) => handle(request)));
    }
    case "hono": {
      const { honoHandler } = await import("identity-gateway-webhooks/hono");
      const { getRequestListener } = await import("@hono/node-server");
      const { Hono } = await import("hono");
      const app = new Hono();
      app.post("/", honoHandler(receiver));
      return voided(getRequestListener(app.fetch));
    }
    case "lambda": {
      const { lambdaHandler } = await import("identity-gateway-webhooks/aws-lambda");
      return functionUrl(lambdaHandler(receiver), flaw === "answers before its function has ended");
    }
  }
}

function voided(listener: (...given: Parameters<RequestListener>) => unknown): RequestListener {
  return (...given) => void listener(...given);
}

/** Calls the function as a function URL does. */
function functionUrl(invoke: LambdaHandler, isHasty: boolean): RequestListener {
  return (req, res) => {
    void (async () => {
      const event = {
        requestContext: { http: { method: req.method ?? "" } },
        headers: Object.fromEntries(
          Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
        ),
        body: (await buffer(req)).toString("base64"),
        isBase64Encoded: true,
      };
      const endsAt = Date.now() + 10_000;
      const invoked = invoke(event, { getRemainingTimeInMillis: () => endsAt - Date.now() });
      const { statusCode, headers, body } = isHasty
        ? { statusCode: 200, headers: {}, body: '{"outcome":"handled"}' }
        : await invoked;
      res.writeHead(statusCode, headers).end(body);
    })().catch(() => {
      // The sender hung up, or the function failed.
      res.destroy();
    });
  };
}

const config = JSON.parse(process.argv[2] ?? "") as ReceiverConfig;
if (isProcessOff(config)) shiftClock(config.clockOffMs);
const ledger = openLedger(config.ledgerFile, config.receiver);
watchStalls(ledger, config.holdMs / 4);
const work = createWork(config, ledger);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [, ms] = /^jump (.+)$/.exec(line) ?? [];
    if (ms !== undefined) shiftClock(Number(ms));
    else if (line === "heal") work.heal();
  })
  // The parent process is gone.
  .on("close", () => process.exit());

// Loads only what it needs: a run starts receivers more than a hundred times.
const setup = new URL(`setups/${config.setup}.js`, import.meta.url).href;
const { makeReceiver } = (await import(setup)) as { readonly makeReceiver: MakeReceiver };
const receiver = await makeReceiver(config, ledger, work);
const server = createServer(await listenerOf(receiver, config));
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
