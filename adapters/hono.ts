import { createBodyLimits, type BodyLimits, type BodyOptions } from "./http/body-limits.js";
import {
  answerFetch,
  readFetchRequest,
  waitUntilOn,
  type FetchRequest,
} from "./http/fetch-answer.js";
import { nodeDisconnection, untouchedIncoming } from "./http/hono-incoming.js";
import { discardNodeBody, readNodeBody } from "./http/node-body.js";
import type { WebhookReceiver } from "../src/receiver.js";
import { UnreadableBody } from "../src/delivery/request.js";

/** Options of the Hono adapter. */
export type HonoHandlerOptions = BodyOptions;

/** The part of Hono's `Context` that is used, by structure. */
export interface HonoContext {
  /** The platform's context. Hono throws where there is none. */
  readonly executionCtx?: unknown;
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
 * @throws ConfigurationError for what is no receiver, an unknown option and one out of its bounds.
 */
export function honoHandler(
  receiver: WebhookReceiver,
  options: HonoHandlerOptions = {},
): HonoHandler {
  const limits = createBodyLimits("honoHandler", receiver, options);
  return (c) =>
    answerFetch(receiver, readHonoRequest(c, limits), (work) => {
      // Asked only now: where there is no context, Hono throws, and that takes time.
      waitUntilOn([c.executionCtx], work);
    });
}

async function readHonoRequest(
  { env, req }: HonoContext,
  limits: BodyLimits,
): Promise<FetchRequest> {
  const { raw, bodyCache } = req;
  // The headers before the body: for them @hono/node-server before 1.15 makes a whole `Request`, which
  // fails once the body has been read, and takes its stream before; `untouchedIncoming` sees that.
  const { method, headers } = raw;
  const isDisconnected = nodeDisconnection(env) ?? (() => raw.signal.aborted);
  const head = { method, headers, isDisconnected };
  const { arrayBuffer, text } = bodyCache;
  try {
    // Never from cached JSON: to serialise it again gives other bytes.
    if (arrayBuffer !== undefined) {
      return { ...head, body: new Uint8Array(await (arrayBuffer as Promise<ArrayBuffer>)) };
    }
    if (text !== undefined) return { ...head, body: await (text as Promise<string>) };
  } catch {
    return { ...head, body: undefined };
  }
  const incoming = method === "POST" ? untouchedIncoming(env, raw) : undefined;
  if (incoming === undefined) {
    return { ...(await readFetchRequest(raw, limits, ADVICE)), isDisconnected };
  }
  const body = await readNodeBody(incoming, limits, ADVICE);
  const isTooLarge = body instanceof UnreadableBody && body.reason === "body_too_large";
  return isTooLarge
    ? { ...head, body, discard: () => discardNodeBody(incoming) }
    : { ...head, body };
}
