import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { signDelivery } from "identity-gateway-webhooks";

/** The secret of the demo's webhook. */
export const SECRET = "whsec_test_0123456789abcdef";

/** What the gateway sends; a list is a header that is sent more than once. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array;
}

/** A delivery with each webhook header once. A type, so that its headers are also a plain record. */
export type SignedDelivery = {
  readonly headers: {
    readonly "Content-Type": string;
    readonly "X-Webhook-Type": string;
    readonly "X-Webhook-Id": string;
    readonly "X-Webhook-Timestamp": string;
    readonly "X-Webhook-Signature": string;
  };
  readonly body: Uint8Array;
};

/** What the gateway is answered. */
export interface Answer {
  readonly status: number;
  readonly outcome: string;
}

/** Signs a delivery as the gateway does. `timestamp` is in Unix seconds. */
export async function sign(
  delivery: { readonly type: string; readonly id: string; readonly body: Uint8Array },
  timestamp = Math.floor(Date.now() / 1000),
  secret = SECRET,
): Promise<SignedDelivery> {
  const { type, id, body } = delivery;
  const headers = {
    "Content-Type": "application/json",
    "X-Webhook-Type": type,
    "X-Webhook-Id": id,
    "X-Webhook-Timestamp": String(timestamp),
    "X-Webhook-Signature": await signDelivery({ secret, id, timestamp, body }),
  };
  return { headers, body };
}

// The gateway keeps its connections too.
const agent = new Agent({ keepAlive: true });

/** Posts a delivery. By `node:http`, since `fetch` joins a repeated header into one. */
export async function send(
  url: string,
  { headers, body }: Delivery,
): Promise<Answer & { readonly ms: number }> {
  const startedAt = performance.now();
  const req = request(url, { method: "POST", agent });
  for (const [name, value] of Object.entries(headers)) req.setHeader(name, value);
  req.end(body);
  const [res] = (await once(req, "response")) as [IncomingMessage];
  const outcome = outcomeOf(await text(res));
  return { status: res.statusCode ?? 0, outcome, ms: performance.now() - startedAt };
}

/** `{ "outcome" }`, or the outcome in capitals as the code of the gateway's error envelope. */
function outcomeOf(body: string): string {
  const answer = JSON.parse(body) as { outcome: string } | { error: { code: string } };
  return "outcome" in answer ? answer.outcome : answer.error.code.toLowerCase();
}
