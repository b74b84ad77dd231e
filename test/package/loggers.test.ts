import { PassThrough, Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import winston from "winston";
import type { LogDetails, WebhookLogger } from "../../src/index.js";
import { delivery } from "../support/deliveries.js";
import { readMarkdown } from "../support/package/markdown.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const PAGE = readMarkdown("docs/logging.md");

/** The log of a delivery whose handler fails: the JSON of its only line. */
async function failing(
  logger: WebhookLogger,
  written: PassThrough,
): Promise<Record<string, unknown>> {
  const fail = () => Promise.reject(new Error("database is away"));
  const receiver = alarmReceiver(fail, { logger });
  await receiver.receive(await delivery());
  await expect.poll(() => written.readableLength).toBeGreaterThan(0);
  const lines = String(written.read()).trim().split("\n");
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? "") as Record<string, unknown>;
}

const ARRIVED = {
  outcome: "handler_failed",
  id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  err: { message: "database is away", stack: expect.stringContaining("loggers.test") as string },
};

test("with the wrapper of docs/logging.md, pino writes id, outcome, and the error's message and stack", async () => {
  const written = new PassThrough();
  const log = pino(written);
  const entry = await failing(
    {
      warn: (message, details) => log.warn(details, message),
      error: (message, details) => log.error(details, message),
    },
    written,
  );
  expect(entry).toMatchObject({ ...ARRIVED, level: 50 });
  expect(entry["msg"]).toMatch(/^identity-gateway-webhooks: handler_failed: /);
  const snippet = PAGE.snippet("ts", "pino()");
  expect(snippet).toContain("warn: (message, details) => log.warn(details, message),");
  expect(snippet).toContain("error: (message, details) => log.error(details, message),");
});

test("with the wrapper of docs/logging.md, winston writes id, outcome, and the error's message and stack", async () => {
  const written = new PassThrough();
  const log = winston.createLogger({ format: winston.format.json() });
  // The text that a transport receives.
  const transport = new Writable({
    objectMode: true,
    write(info: Readonly<Record<symbol, unknown>>, _encoding, done) {
      written.write(`${String(info[Symbol.for("message")])}\n`, done);
    },
  });
  log.pipe(transport);
  const plain = ({ err, ...rest }: LogDetails) =>
    err instanceof Error
      ? { ...rest, err: { message: err.message, stack: err.stack } }
      : { ...rest, err };
  const entry = await failing(
    {
      warn: (message, details) => log.warn(message, plain(details)),
      error: (message, details) => log.error(message, plain(details)),
    },
    written,
  );
  expect(entry).toMatchObject({ ...ARRIVED, level: "error" });
  expect(entry["message"]).toMatch(/^identity-gateway-webhooks: handler_failed: /);
  const snippet = PAGE.snippet("ts", "winston.createLogger");
  expect(snippet).toContain("warn: (message, details) => log.warn(message, plain(details)),");
  expect(snippet).toContain("error: (message, details) => log.error(message, plain(details)),");
  expect(snippet.replaceAll(/\s+/g, " ")).toContain(
    "err instanceof Error ? { ...rest, err: { message: err.message, stack: err.stack } } : { ...rest, err };",
  );
});
