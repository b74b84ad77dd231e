import express from "express";
import { createServer, type Server } from "node:http";
import { expect, it } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { nodeHandler } from "../../adapters/node.js";
import { createWebhookReceiver, type WebhookRequest } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { createCollector, type Collector, type LogLine } from "../support/collector.js";
import {
  alarm,
  delivery,
  eventDelivery,
  NOW_MS,
  NOW_SECONDS,
  NO_TIME_TO_WAIT,
} from "../support/deliveries.js";
import { rejects, throwing } from "../support/faults.js";
import { calledWorker } from "../support/inbox/called-worker.js";
import { readMarkdown } from "../support/package/markdown.js";
import { listen } from "../support/servers.js";

const REMEMBERING = { renew: () => true, complete: () => undefined, release: () => undefined };

type Options = NonNullable<Parameters<typeof alarmReceiver>[1]>;
type Cause = (collector: Collector) => unknown;

/** Receives a request with a receiver whose handler does nothing, or what `handler` says. */
function received(
  request: Partial<WebhookRequest> | Promise<Partial<WebhookRequest>>,
  more: Options = {},
  handler: () => unknown = () => undefined,
): Cause {
  return async ({ options }) => {
    const receiver = alarmReceiver(handler, { ...options, ...more });
    await receiver.receive({ ...(await delivery()), ...(await request) });
  };
}

/** What makes the code write each line of the page, by the beginning of the line. */
const CAUSES: Readonly<Record<string, Cause>> = {
  malformed: async (collector) => {
    const { headers } = await delivery();
    await received({ headers: { ...headers, "x-webhook-id": "" } })(collector);
    expect(collector.lines[0]?.message).not.toContain("None of the four X-Webhook- headers");
    const bot = createCollector();
    await received({ headers: {} })(bot);
    expect(bot.lines[0]?.message).toContain("None of the four X-Webhook- headers is there.");
  },
  "malformed: A delivery has lost its method and its body: something in front redirects it.":
    received({ method: "GET" }),
  "last attempt refused": received(lastAttempt(), {}, rejects),
  dead: async ({ options: { logger } }) => {
    const work = calledWorker({ logger, handlers: { new_alarm: () => undefined } });
    await work("not a job", { attempt: 15 });
  },
  body_consumed: async ({ options }) => {
    const receiver = alarmReceiver(() => undefined, options);
    await exchange(createServer(express().use(express.json()).post("/", expressHandler(receiver))));
  },
  internal_error: received({}, { now: throwing(new Error("no clock")) }),
  unrecognized: received(delivery({ body: "{}" })),
  unhandled: received(eventDelivery("DATA_DELETED")),
  stale: received({}, { now: () => NOW_MS + 3_600_000 }),
  signature_mismatch: received(delivery({ secret: "whsec_of_another_webhook_01" })),
  unsigned: async (collector) => {
    const { headers } = await delivery();
    await received({ headers: { ...headers, "x-webhook-signature": undefined } })(collector);
  },
  store_unavailable: received({}, { store: { ...REMEMBERING, claim: rejects } }),
  secret_unavailable: async ({ options }) => {
    const handlers = { new_alarm: () => undefined };
    const receiver = createWebhookReceiver({ ...options, secret: rejects, handlers });
    await receiver.receive(await delivery());
  },
  handler_failed: received({}, {}, rejects),
  handler_timeout: received({}, { handlerTimeoutMs: 1 }, () => new Promise(() => undefined)),
  overloaded: async ({ options }) => {
    const { receiver, run } = await heldRun({ ...options, maxConcurrentDeliveries: 1 });
    await receiver.receive({ ...(await delivery({ id: "another" })), ...NO_TIME_TO_WAIT });
    await run.succeed();
  },
  answer_lost: async ({ options }) => {
    const handle = nodeHandler(alarmReceiver(() => undefined, options));
    const server = createServer((req, res) => {
      res.writeHead = throwing(new Error("a wrapper of the response"));
      void handle(req, res);
    });
    await exchange(server);
  },
};

const ROWS = readMarkdown("docs/monitoring.md").table("line");

/** A line that begins like another one has a cause of its own. */
const causeOf = (line = ""): string => (line in CAUSES ? line : (line.split(":")[0] ?? ""));

it("docs/monitoring.md has the lines that are tested here, each once", () => {
  const names = ROWS.map(([line]) => causeOf(line));
  expect(names.sort()).toEqual(Object.keys(CAUSES).sort());
});

it.each(ROWS)("the code writes the line %s with the level %s", async (line, level) => {
  const collector = createCollector();
  await CAUSES[causeOf(line)]?.(collector);
  const beginsSo = ({ message }: LogLine) =>
    message.startsWith(`identity-gateway-webhooks: ${line}`);
  expect(collector.lines.filter(beginsSo).map((found) => found.level)).toEqual([level]);
});

/** Sends a delivery to a server, and waits for the end of the exchange. */
async function exchange(server: Server): Promise<void> {
  const { port, close } = await listen(server);
  await fetch(`http://127.0.0.1:${port}/`, await delivery()).catch(() => undefined);
  await close();
}

/** An alarm as it comes at the tenth attempt of the gateway's schedule. */
function lastAttempt() {
  const created_at = new Date((NOW_SECONDS - 21_693) * 1000).toISOString();
  return delivery({ body: JSON.stringify({ alarm: alarm({ created_at }) }) });
}
