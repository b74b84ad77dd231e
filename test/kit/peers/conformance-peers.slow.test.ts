import { createHmac } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import express, { type RequestHandler } from "express";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { expect, it } from "vitest";
import type { ConformanceReport } from "../../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import type { Ledger } from "../../support/ledger.js";
import { HANDLES_DUPLICATES, runSuiteOnListener } from "../../support/testing/run-suite.js";

/**
 * `@octokit/webhooks` with its Node middleware, its HMAC and its event handlers. Two things are adapted: the
 * names of the headers, and the signed text, which has `v1:time:id:` before the body. That prefix reaches the
 * verification as the id of the delivery. The middleware, which chooses the answers, is unchanged.
 */
function octokitReceiver(ledger: Ledger): RequestListener {
  const webhooks = new Webhooks({ secret: TEST_SECRET, log: silent });
  webhooks.onAny(({ id }) => ledger.record({ id }));
  webhooks.verifyAndReceive = async ({ id, name, payload, signature }) => {
    const isAuthentic = await webhooks.verify(`v1:${id}:${payload}`, signature).catch(() => false);
    // As in their code: the middleware answers with the status of the error.
    if (!isAuthentic) throw octokitError("signature does not match");
    let parsed: unknown;
    try {
      parsed = JSON.parse(payload);
    } catch {
      throw octokitError("Invalid JSON");
    }
    const delivery = { id: id.slice(id.indexOf(":") + 1), name, payload: parsed };
    await webhooks.receive(delivery as Parameters<Webhooks["receive"]>[0]);
  };
  const middleware = createNodeMiddleware(webhooks, { path: "/", log: silent });

  return (req, res) => {
    const time = headerOf(req, "x-webhook-timestamp");
    const id = headerOf(req, "x-webhook-id");
    const signature = headerOf(req, "x-webhook-signature");
    setHeader(req, "x-github-event", headerOf(req, "x-webhook-type"));
    if (time !== undefined && id !== undefined)
      setHeader(req, "x-github-delivery", `${time}:${id}`);
    setHeader(req, "x-hub-signature-256", signature?.replace(/^v1=/, "sha256="));
    void middleware(req, res);
  };
}

const nothing = () => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function octokitError(message: string): AggregateError {
  return new AggregateError([Object.assign(new Error(message), { status: 400 })], message);
}

/**
 * `standardwebhooks` in Express 5, mounted as its README shows: `express.raw`, a 400 for a delivery that does
 * not verify, then the handler. Two things are adapted: the names of the headers, and `sign`, which computes
 * the gateway's MAC instead of its own over `id.time.body` in base64. Header parsing, tolerance, comparison and
 * JSON are unchanged.
 */
function standardWebhooksReceiver(ledger: Ledger): RequestListener {
  const webhook = new GatewayWebhook(TEST_SECRET, { format: "raw" });
  const receive: RequestHandler = async (req, res) => {
    let delivery: unknown;
    try {
      delivery = webhook.verify(req.body as Buffer, {
        "webhook-id": headerOf(req, "x-webhook-id") ?? "",
        "webhook-timestamp": headerOf(req, "x-webhook-timestamp") ?? "",
        "webhook-signature": (headerOf(req, "x-webhook-signature") ?? "").replace(/^v1=/, "v1,"),
      });
    } catch (error) {
      res
        .status(400)
        .json({ error: error instanceof WebhookVerificationError ? error.message : "" });
      return;
    }
    if (delivery !== undefined) await ledger.record({ id: headerOf(req, "x-webhook-id") ?? "" });
    res.json({});
  };
  const app = express().set("env", "test");
  app.post("/", express.raw({ type: "application/json" }), receive);
  return app as RequestListener;
}

class GatewayWebhook extends Webhook {
  override sign(id: string, timestamp: Date, payload: string | Buffer): string {
    const seconds = String(Math.floor(timestamp.getTime() / 1000));
    // Decoded and encoded again, as in their code.
    const text = payload.toString();
    const mac = createHmac("sha256", TEST_SECRET).update(`v1:${seconds}:${id}:${text}`);
    return `v1,${mac.digest("hex")}`;
  }
}

function headerOf(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return typeof value === "string" ? value : undefined;
}

function setHeader(req: IncomingMessage, name: string, value: string | undefined): void {
  if (value !== undefined) req.headers[name] = value;
}

/** The cases about duplicates that a receiver fails. */
function failedTwice({ results }: ConformanceReport): readonly string[] {
  return results
    .filter(({ group, result }) => group === "idempotency" && result === "failed")
    .map(({ id }) => id);
}

/** Why a case failed. */
function reasonOf({ results }: ConformanceReport, id: string): string | undefined {
  return results.find((result) => result.id === id)?.reason;
}

it("octokit/webhooks loses alarms by 400 and 415 and handles duplicates again", async () => {
  const report = await runSuiteOnListener(octokitReceiver);
  expect(failedTwice(report)).toEqual(HANDLES_DUPLICATES);
  expect(reasonOf(report, "wrong_secret_sent_again")).toBe(
    "another secret: expected a retryable status, got 400, after which the gateway gives up for good",
  );
  expect(reasonOf(report, "content_types")).toContain(
    "415, which the gateway's contract does not mention",
  );
});

it("standardwebhooks in Express loses alarms by 400, and big ones by 413, and handles duplicates again", async () => {
  const report = await runSuiteOnListener(standardWebhooksReceiver);
  // The deliveries that fail are of every kind, and big ones are among them.
  expect(failedTwice(report)).toEqual(expect.arrayContaining(HANDLES_DUPLICATES));
  expect(reasonOf(report, "wrong_secret_sent_again")).toContain("got 400");
  expect(reasonOf(report, "big_alarm")).toContain("expected 2xx, got 413");
  expect(reasonOf(report, "drifted_clock_sent_again")).toContain("an hour old: expected a retry");
});
