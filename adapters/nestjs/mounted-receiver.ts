import { Logger as NestLogger } from "@nestjs/common";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { logLine } from "../../src/answer/log-line.js";
import type { WebhookLogger } from "../../src/answer/logger.js";
import { checkVersion, unsupportedVersion } from "../../src/common/option-checks.js";
import type { WebhookReceiverOptions } from "../../src/options/options.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../src/receiver.js";
import { nodeListener, type NodeListener } from "../http/node-listener.js";
import { findHandlers } from "./find-handlers.js";
import type { WebhookReceiverModuleOptions } from "./module-options.js";
import { ConfigurationError } from "../../src/common/errors.js";
import type { NodeRequest, NodeResponse } from "../http/node-connection.js";

const ADVICE =
  "Something read the body ahead of Nest: look for a server or a serverless wrapper around the app, or let" +
  " it keep the bytes in req.rawBody.";

const SUPPORTED = "Nest 10 and later";

/**
 * Makes the receiver when the app starts, mounts it, and drains it when the app stops. `receiver`: the injectable
 * object, still empty, because the handlers may inject it.
 */
export function mountedReceiver(
  given: WebhookReceiverModuleOptions,
  receiver: Partial<WebhookReceiver>,
  host: HttpAdapterHost,
  discovery: DiscoveryService,
) {
  return {
    /** All providers exist now, and no request has come yet. */
    onModuleInit(): void {
      const found = ["getProviders", "getControllers"];
      checkVersion("DiscoveryService", discovery, found, "@nestjs/core", SUPPORTED);
      const { path, bodyTimeoutMs, uploadTimeoutMs, logger, ...options } = given;
      const made = createWebhookReceiver({
        ...options,
        handlers: findHandlers(discovery),
        logger: logger ?? nestLogger(),
      } as WebhookReceiverOptions);
      const complete = Object.assign(receiver, made);
      const limits = { bodyTimeoutMs, uploadTimeoutMs };
      const listener = nodeListener("WebhookReceiverModule", complete, limits, ADVICE);
      // An application context, such as a script or a queue's worker, has no HTTP adapter.
      const adapter = host.httpAdapter as HttpAdapter | null | undefined;
      if (!adapter) return;
      checkVersion("the app", adapter, ["getType", "getInstance"], "@nestjs/core", SUPPORTED);
      mount(adapter, path, listener);
    },

    /** The first of Nest's shutdown hooks: the handlers finish while what they use is still open. */
    async onModuleDestroy(): Promise<void> {
      // There is nothing to drain if the start has failed.
      await receiver.drain?.();
    },
  };
}

/** Nest's logger prints details as entries of their own, so they go into the line. */
function nestLogger(): WebhookLogger {
  const logger = new NestLogger("WebhookReceiver");
  return {
    warn: (message, details) => logger.warn(logLine(message, details)),
    error: (message, details) => logger.error(logLine(message, details)),
  };
}

/** The part of Nest's `HttpAdapter` that is needed. */
interface HttpAdapter {
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

const PLATFORMS = "Express 4 and 5, Fastify 4 and 5";

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
    throw unsupportedVersion("the app", "an Express without a list of routes", PLATFORMS);
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
    throw unsupportedVersion("the app", `Fastify ${version}, without a list of hooks`, PLATFORMS);
  }
  return onRequest;
}
