import { wrongCall, type BodyOptions } from "./http/body-limits.js";
import type { NodeRequest, NodeResponse } from "./http/node-connection.js";
import { nodeListener } from "./http/node-listener.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/** What the adapter uses of a Koa context, of version 2 or 3. */
interface KoaContext {
  /** The request of Node. */
  readonly req: NodeRequest;
  /** The response of Node. */
  readonly res: NodeResponse;
  /** Its `rawBody` is what a body parser has kept. */
  readonly request: object;
  /** Set to false, so that Koa writes nothing. */
  respond?: boolean | undefined;
  /** Reports an error of the request to the app. */
  onerror(error: Error): void;
}

/** A Koa middleware. It answers every request that reaches it, and calls no middleware after it. */
export type KoaHandler = (ctx: KoaContext) => Promise<void>;

const ADVICE =
  "Mount koaHandler(receiver) above app.use(bodyParser()) or whichever parser reads the body:" +
  ' app.use(mount("/webhooks/gateway", koaHandler(receiver))), with koa-mount. Text that a parser has' +
  " kept in ctx.request.rawBody is used only if it must be what was sent: UTF-8 with a Content-Length," +
  " without compression and byte order mark.";

/**
 * Mounts a receiver on Koa 2 or 3. Mount it by a router or koa-mount, before any body parser. It writes the
 * response itself, so middlewares around it cannot change the answer.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * app.use(mount("/webhooks/gateway", koaHandler(receiver)));
 * ```
 */
export function koaHandler(receiver: MountableReceiver, options: BodyOptions = {}): KoaHandler {
  const listener = nodeListener("koaHandler", receiver, options, ADVICE);
  return async (ctx) => {
    const { req, res } = Object(ctx) as Partial<KoaContext>;
    if (req === undefined || res === undefined) throw wrongCall("koaHandler", "Koa's context");
    ctx.respond = false;
    ignoreHangUp(ctx);
    keepSentBytes(ctx);
    await listener(ctx.req, ctx.res);
  };
}

/** Koa reports a connection that breaks as an error of the app. The report of the receiver has it. */
function ignoreHangUp(ctx: KoaContext): void {
  const { req } = ctx;
  const onError = ctx.onerror.bind(ctx);
  ctx.onerror = (error) => {
    if (error !== req.socket.errored) onError(error);
  };
}

/** Passes what a body parser has kept on to the body reader. */
function keepSentBytes({ req, request }: KoaContext): void {
  const { rawBody } = request as { readonly rawBody?: unknown };
  if (req.rawBody !== undefined) return;
  const bytes = typeof rawBody === "string" ? sentBytes(req, rawBody) : rawBody;
  if (bytes instanceof Uint8Array) Object.assign(req, { rawBody: bytes });
}

/**
 * The bytes that a decoded text came from, if there is no doubt. A decoder replaces what is not UTF-8, and
 * drops a byte order mark, so the length tells whether anything is missing.
 */
function sentBytes({ headers }: NodeRequest, text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text);
  const isPlain = (headers["content-encoding"] ?? "identity") === "identity";
  const isWhole = bytes.length === Number(headers["content-length"]);
  return isPlain && isWhole && !text.includes("\uFFFD") ? bytes : undefined;
}
