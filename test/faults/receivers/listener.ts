import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import type { WebhookReceiver } from "identity-gateway-webhooks";
import type { LambdaHandler } from "identity-gateway-webhooks/aws-lambda";
import type { ReceiverConfig } from "./receiver-config.js";

/** Mounts the receiver by the adapter of the mode. Loads only what it needs. */
export async function listenerOf(
  receiver: WebhookReceiver,
  { adapter, flaw }: ReceiverConfig,
): Promise<RequestListener> {
  switch (adapter) {
    case undefined: {
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
