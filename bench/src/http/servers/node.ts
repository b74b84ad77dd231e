import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { SECRET } from "../../deliveries.js";
import { createAsyncReceiverByHand } from "../../handwritten/full.js";
import type { Handle } from "../measured-server.js";

/** The floor: the minimum for any receiver of signed JSON, without any check. */
export function floorServer(handle: Handle): Server {
  return createServer((req, res) => {
    collect(req, (body) => {
      const { "x-webhook-id": id, "x-webhook-timestamp": timestamp } = req.headers;
      createHmac("sha256", SECRET)
        .update(`v1:${String(timestamp)}:${String(id)}:`)
        .update(body)
        .digest();
      void handle(JSON.parse(body.toString("utf8"))).then(() => {
        res.writeHead(200).end();
      });
    });
  });
}

/** Ours on plain Node. */
export function oursOnNode(handle: Handle): Server {
  return createServer(
    nodeHandler(createWebhookReceiver({ secret: SECRET, handlers: { new_alarm: handle } })),
  );
}

/** The full receiver by hand on plain Node. */
export function byHandOnNode(handle: Handle): Server {
  const receive = createAsyncReceiverByHand(SECRET, handle);
  return createServer((req, res) => {
    collect(req, (body) => {
      receive(req.headers, body).then(
        (outcome) => {
          res.writeHead(outcome === "refused" ? 401 : 200, { "content-type": "application/json" });
          res.end(JSON.stringify({ outcome }));
        },
        () => res.writeHead(500).end(),
      );
    });
  });
}

function collect(req: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    done(Buffer.concat(chunks));
  });
}
