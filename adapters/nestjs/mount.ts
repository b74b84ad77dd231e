import { ConfigurationError } from "../../src/common/errors.js";
import { unsupportedVersion } from "../../src/common/option-checks.js";
import type { NodeRequest, NodeResponse } from "../http/node-connection.js";
import type { NodeListener } from "../http/node-listener.js";

/** The part of Nest's `HttpAdapter` that is needed. */
export interface HttpAdapter {
  getType(): string;
  getInstance(): unknown;
}

/** Express 4 keeps its router as `_router`, and throws if `router` is read. */
interface ExpressApp {
  all(path: string, listener: NodeListener): unknown;
  readonly _router?: { readonly stack?: unknown };
  readonly router?: { readonly stack?: unknown };
}

interface FastifyScope {
  register(plugin: (scope: FastifyScope, options: unknown, done: () => void) => void): unknown;
  all(path: string, handler: () => unknown): unknown;
}

const SUPPORTED = "Express 4 and 5, Fastify 4 and 5";

type OnRequest = (
  request: { readonly raw: NodeRequest },
  reply: { readonly raw: NodeResponse; hijack(): unknown },
) => void;

interface Hooks {
  readonly onRequest: OnRequest[];
}

/**
 * Mounts `listener` on Nest's platform, ahead of everything that has been registered: parsers, middleware,
 * CORS and hooks can neither read a delivery nor answer it.
 *
 * @throws ConfigurationError on a platform other than Express and Fastify (`unsupported_platform`), and for a
 * version of them that has no list of routes or hooks to get ahead of (`unsupported_version`).
 */
export function mount(adapter: HttpAdapter, path: string, listener: NodeListener): void {
  const platform = adapter.getType();
  if (platform === "express") {
    mountOnExpress(adapter.getInstance() as ExpressApp, path, listener);
  } else if (platform === "fastify") {
    mountOnFastify(adapter.getInstance() as FastifyScope, path, listener);
  } else {
    throw new ConfigurationError(
      "unsupported_platform",
      `WebhookReceiverModule mounts on Express and on Fastify, not on ${platform || "a platform without a name"}`,
    );
  }
}

/** Express has no public way to get ahead of what `main.ts` has registered, so the route is moved. */
function mountOnExpress(app: ExpressApp, path: string, listener: NodeListener): void {
  app.all(path, listener);
  const stack = (app._router ?? app.router)?.stack;
  if (!Array.isArray(stack))
    throw unsupportedVersion("the app", "an Express without a list of routes", SUPPORTED);
  stack.unshift(stack.pop());
}

/**
 * A hook of its own scope takes the request before Fastify looks at its Content-Type. It is put first in
 * the scope's list, ahead of the hooks of Nest's middleware, which the scope inherits.
 */
function mountOnFastify(app: FastifyScope, path: string, listener: NodeListener): void {
  const takeRequest: OnRequest = (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  };
  app.register((scope, _options, done) => {
    onRequestHooksOf(scope).unshift(takeRequest);
    // The hook answers every request.
    scope.all(path, () => undefined);
    done();
  });
}

/** Fastify has no public way to add a hook ahead of those that a scope inherits. */
function onRequestHooksOf(scope: object): OnRequest[] {
  const hooks = Object.getOwnPropertySymbols(scope).find(
    ({ description }) => description === "fastify.hooks",
  );
  const { onRequest } = (hooks && (scope as Record<symbol, Partial<Hooks>>)[hooks]) ?? {};
  if (!Array.isArray(onRequest)) {
    const { version = "" } = scope as { readonly version?: string };
    throw unsupportedVersion("the app", `Fastify ${version}, without a list of hooks`, SUPPORTED);
  }
  return onRequest;
}
