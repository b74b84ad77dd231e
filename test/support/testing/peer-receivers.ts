import { createHmac } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import express, { type RequestHandler } from "express";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { TEST_SECRET } from "../deliveries.js";
import type { Ledger } from "../ledger.js";

/**
 * `@octokit/webhooks`: its Node middleware, its HMAC, its event handlers. Adapted are the names of the
 * headers, and what is signed: `v1:time:id:` goes before the body where theirs has the body alone, which
 * is carried to the verification as the id of the delivery. Its middleware, which decides what is
 * answered, is as it comes from npm.
 */
export function octokitReceiver(ledger: Ledger): RequestListener {
  const webhooks = new Webhooks({ secret: TEST_SECRET, log: silent });
  webhooks.onAny(({ id }) => ledger.record({ id }));
  webhooks.verifyAndReceive = async ({ id, name, payload, signature }) => {
    const isAuthentic = await webhooks.verify(`v1:${id}:${payload}`, signature).catch(() => false);
    // As theirs does: the error's status is what the middleware answers.
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
    give(req, "x-github-event", headerOf(req, "x-webhook-type"));
    if (time !== undefined && id !== undefined) give(req, "x-github-delivery", `${time}:${id}`);
    give(req, "x-hub-signature-256", signature?.replace(/^v1=/, "sha256="));
    void middleware(req, res);
  };
}

const nothing = () => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function octokitError(message: string): AggregateError {
  return new AggregateError([Object.assign(new Error(message), { status: 400 })], message);
}

/**
 * `standardwebhooks` in Express 5, mounted as its README and those of its users do: `express.raw`, a 400
 * for what does not verify, then the handler. Adapted are the names of the headers, and `sign`, in which
 * its MAC over `id.time.body` in base64 is replaced by the gateway's; parsing of the headers, time-out,
 * comparison and JSON are as they come from npm.
 */
export function standardWebhooksReceiver(ledger: Ledger): RequestListener {
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
    // Decoded and encoded again, as theirs does.
    const text = payload.toString();
    const mac = createHmac("sha256", TEST_SECRET).update(`v1:${seconds}:${id}:${text}`);
    return `v1,${mac.digest("hex")}`;
  }
}

function headerOf(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return typeof value === "string" ? value : undefined;
}

function give(req: IncomingMessage, name: string, value: string | undefined): void {
  if (value !== undefined) req.headers[name] = value;
}
