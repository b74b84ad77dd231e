import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest, NodeResponse } from "./http/node-connection.js";
import { nodeListener } from "./http/node-listener.js";
import { invalidOption } from "../src/common/errors.js";
import { missingMethod, unsupportedVersion } from "../src/common/option-checks.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/** Options of `fastifyPlugin`, beside those that `app.register` itself takes. */
export interface FastifyPluginOptions extends BodyOptions {
  receiver: MountableReceiver;
  /**
   * The path of the webhook, with a leading slash. A `prefix`, of `app.register` or of a scope around it,
   * is put before it. The same path with one slash more or less at its end is answered too, unless the app has a
   * route there.
   */
  path: string;
}

/** What the plugin uses of a Fastify instance, of version 4 or 5, over HTTP, HTTPS or HTTP/2. */
interface FastifyScope {
  /** Adds a route for every method that the server takes. */
  all(
    path: string,
    options: { onRequest: FastifyListener; exposeHeadRoute: boolean },
    handler: FastifyListener,
  ): unknown;
}

/** Answers a request of Fastify by its Node request and response. */
type FastifyListener = (
  request: { readonly raw: NodeRequest; readonly awsLambda?: NodeRequest["apiGateway"] },
  reply: { readonly raw: NodeResponse; hijack(): unknown },
) => Promise<void>;

const MOUNT = 'app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" })';

/** Fastify passes them on to the plugin. */
const OPTIONS_OF_REGISTER = ["prefix", "logLevel", "logSerializers"];

const ADVICE =
  "An onRequest hook or a middleware of the app has read the body. Register fastifyPlugin outside of the" +
  " scope with that hook, or let the hook keep the bytes in request.raw.rawBody. Content-type parsers and" +
  " preParsing hooks never see the body.";

/**
 * Mounts a receiver on Fastify 4 or 5, in a scope of its own. It answers every method on `path`. The app's
 * content-type parsers, `bodyLimit`, `handlerTimeout` and error handler do not apply to it. `onRequest` hooks
 * of the scopes around it run first, and what they answer, the gateway gets.
 *
 * Rejects with a ConfigurationError, and so does `app.ready()`, if `receiver` is not a receiver, for a missing
 * `path`, for an unknown option, for a value out of bounds, and on a Fastify that lacks what the plugin calls
 * (`unsupported_version`).
 * @example
 * ```ts
 * app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" });
 * ```
 */
// `async`, because Fastify waits for a promise or for a callback.
// oxlint-disable-next-line typescript/require-await
export async function fastifyPlugin(
  scope: FastifyScope,
  options: FastifyPluginOptions,
): Promise<void> {
  if (missingMethod(scope, ["all"]) !== undefined) {
    const { version } = Object(scope) as { readonly version?: unknown };
    if (typeof version === "string") {
      throw unsupportedVersion("the app", `fastify ${version}`, "fastify 4 and later");
    }
    throw invalidOption(`fastifyPlugin is a plugin: ${MOUNT}`);
  }
  const own = Object.entries(options).filter(([name]) => !OPTIONS_OF_REGISTER.includes(name));
  const { receiver, path, ...bodyOptions } = Object.fromEntries(own) as FastifyPluginOptions;
  const listener = nodeListener("fastifyPlugin", receiver, bodyOptions, ADVICE);
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw invalidOption(`fastifyPlugin takes the path of the webhook: ${MOUNT}`);
  }

  const answer: FastifyListener = async ({ raw, awsLambda }, reply) => {
    reply.hijack();
    // Of @fastify/aws-lambda. The listener knows only Node's request.
    if (awsLambda !== undefined) Object.assign(raw, { apiGateway: awsLambda });
    await listener(raw, reply.raw);
  };
  // As a hook: between hook and handler, Fastify judges the Content-Type and reads the body.
  const mount = (at: string) =>
    scope.all(at, { onRequest: answer, exposeHeadRoute: false }, answer);
  mount(path);
  // The gateway gives up on 404, so one slash in the registered URL must not decide. Fastify itself does it for "/".
  const twin = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
  try {
    if (path !== "/") mount(twin);
  } catch (error) {
    // A route of the app, or `ignoreTrailingSlash`, has it. In Fastify 4 this error has no code of its own.
    if (!String(error).includes("already declared")) throw error;
  }
}
