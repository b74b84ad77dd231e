import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest, NodeResponse } from "./http/node-connection.js";
import { nodeListener } from "./http/node-listener.js";
import { ConfigurationError } from "../src/common/errors.js";
import { missingMethod, unsupportedVersion } from "../src/common/option-checks.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Fastify adapter. */
export interface FastifyHandlerOptions extends BodyOptions {
  /**
   * The path of the webhook, with a leading slash. A `prefix`, of `app.register` or of a scope around it,
   * is put before it.
   */
  path: string;
}

/** A Fastify plugin, for `app.register`. */
export type FastifyHandler = (scope: FastifyScope) => Promise<void>;

/** What the plugin uses of a Fastify instance, of version 4 or 5, over HTTP, HTTPS or HTTP/2. */
export interface FastifyScope {
  /** Adds a route for every method that the server takes. */
  all(
    path: string,
    options: { onRequest: FastifyListener; exposeHeadRoute: boolean },
    handler: FastifyListener,
  ): unknown;
}

/** Answers a request of Fastify by its Node request and response. */
export type FastifyListener = (
  request: { readonly raw: NodeRequest },
  reply: { readonly raw: NodeResponse; hijack(): unknown },
) => Promise<void>;

const ADVICE =
  "An onRequest hook or a middleware of the app has read the body. Register fastifyHandler(receiver," +
  " { path }) outside of the scope with that hook, or let the hook keep the bytes in" +
  " request.raw.rawBody. Content-type parsers and preParsing hooks never see the body.";

/**
 * Mounts a receiver on Fastify 4 or 5 as a plugin in a scope of its own. It answers every method on `path`.
 * The app's content-type parsers, `bodyLimit`, `handlerTimeout` and error handler do not apply to it.
 * `onRequest` hooks of the scopes around it run first, and what they answer, the gateway gets.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for a missing `path`, for an unknown option
 * and for a value out of bounds. The plugin rejects with one (`unsupported_version`) on a Fastify that lacks
 * what it calls.
 * @example
 * ```ts
 * app.register(fastifyHandler(receiver, { path: "/webhooks/gateway" }));
 * ```
 */
export function fastifyHandler(
  receiver: WebhookReceiver,
  options: FastifyHandlerOptions,
): FastifyHandler {
  // Callers in JavaScript may leave the options out.
  const { path, ...bodyOptions } = Object(options) as Partial<FastifyHandlerOptions>;
  const listener = nodeListener("fastifyHandler", receiver, bodyOptions, ADVICE);
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw new ConfigurationError(
      "invalid_option",
      'fastifyHandler takes the path of the webhook: { path: "/webhooks/gateway" }',
    );
  }

  const answer: FastifyListener = async ({ raw }, reply) => {
    reply.hijack();
    await listener(raw, reply.raw);
  };
  // `async`, because Fastify waits for a promise or for a callback.
  // eslint-disable-next-line @typescript-eslint/require-await
  return async function identityGatewayWebhooks(scope) {
    if (missingMethod(scope, ["all"]) !== undefined) {
      const { version } = Object(scope) as { readonly version?: unknown };
      if (typeof version === "string") {
        throw unsupportedVersion("the app", `fastify ${version}`, "fastify 4 and later");
      }
      throw new ConfigurationError(
        "invalid_option",
        "fastifyHandler returns a plugin: app.register(fastifyHandler(receiver, { path }))",
      );
    }
    // As a hook: between hook and handler, Fastify judges the Content-Type and reads the body.
    scope.all(path, { onRequest: answer, exposeHeadRoute: false }, answer);
  };
}
