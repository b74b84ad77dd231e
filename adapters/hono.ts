import { createBodyLimits, type BodyLimits, type BodyTimeoutOption } from "./body-limits.js";
import { answerFetch } from "./fetch-answer.js";
import { readFetchBody, type FetchBody } from "./fetch-body.js";
import { untouchedIncoming } from "./hono-incoming.js";
import { discardNodeBody, readNodeBody } from "./node-body.js";
import type { WebhookReceiver } from "../src/receiver.js";
import { UnreadableBody } from "../src/unreadable-body.js";

/** Options of the Hono adapter. */
export type HonoHandlerOptions = BodyTimeoutOption;

/** The part of Hono's `Context` that is used, by structure. */
export interface HonoContext {
  /** On @hono/node-server it has Node's request. */
  readonly env?: unknown;
  readonly req: {
    readonly raw: Request;
    /** What `c.req.text()` and its siblings have read before. */
    readonly bodyCache: { readonly arrayBuffer?: unknown; readonly text?: unknown };
  };
}

/** A Hono handler: `app.post(path, honoHandler(receiver))`. */
export type HonoHandler = (c: HonoContext) => Promise<Response>;

const ADVICE =
  "Mount honoHandler(receiver) before any middleware that parses the body, or let that middleware" +
  " read it by c.req.text() or c.req.arrayBuffer(), which keep it.";

/**
 * Mounts a receiver on Hono: `app.post("/webhooks/gateway", honoHandler(receiver))`.
 *
 * @throws ConfigurationError for an option out of its bounds.
 */
export function honoHandler(
  receiver: WebhookReceiver,
  options: HonoHandlerOptions = {},
): HonoHandler {
  const limits = createBodyLimits(receiver, options);
  return async (c) => answerFetch(receiver, c.req.raw, await readHonoBody(c, limits));
}

async function readHonoBody({ env, req }: HonoContext, limits: BodyLimits): Promise<FetchBody> {
  const { arrayBuffer, text } = req.bodyCache;
  try {
    // Never from cached JSON: to serialise it again gives other bytes.
    if (arrayBuffer !== undefined) {
      return { body: new Uint8Array(await (arrayBuffer as Promise<ArrayBuffer>)) };
    }
    if (text !== undefined) return { body: await (text as Promise<string>) };
  } catch {
    return { body: undefined };
  }
  const incoming = untouchedIncoming(env, req.raw);
  if (incoming === undefined || req.raw.method !== "POST") {
    return readFetchBody(req.raw, limits, ADVICE);
  }
  const body = await readNodeBody(incoming, limits, ADVICE);
  const isTooLarge = body instanceof UnreadableBody && body.reason === "body_too_large";
  return isTooLarge ? { body, discard: () => discardNodeBody(incoming) } : { body };
}
