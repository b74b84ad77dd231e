import { createBodyLimits, type BodyLimits, type BodyTimeoutOption } from "./body-limits.js";
import { answerFetch, readFetchRequest, type FetchRequest } from "./fetch-answer.js";
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
  return (c) => answerFetch(receiver, readHonoRequest(c, limits));
}

async function readHonoRequest(
  { env, req }: HonoContext,
  limits: BodyLimits,
): Promise<FetchRequest> {
  const { raw, bodyCache } = req;
  // The headers before the body: for them @hono/node-server before 1.15 makes a whole `Request`, which
  // fails once the body has been read, and takes its stream before; `untouchedIncoming` sees that.
  const { method, headers } = raw;
  const { arrayBuffer, text } = bodyCache;
  try {
    // Never from cached JSON: to serialise it again gives other bytes.
    if (arrayBuffer !== undefined) {
      return { method, headers, body: new Uint8Array(await (arrayBuffer as Promise<ArrayBuffer>)) };
    }
    if (text !== undefined) return { method, headers, body: await (text as Promise<string>) };
  } catch {
    return { method, headers, body: undefined };
  }
  const incoming = method === "POST" ? untouchedIncoming(env, raw) : undefined;
  if (incoming === undefined) return readFetchRequest(raw, limits, ADVICE);
  const body = await readNodeBody(incoming, limits, ADVICE);
  const isTooLarge = body instanceof UnreadableBody && body.reason === "body_too_large";
  return isTooLarge
    ? { method, headers, body, discard: () => discardNodeBody(incoming) }
    : { method, headers, body };
}
