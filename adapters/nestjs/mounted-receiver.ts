import { Logger as NestLogger } from "@nestjs/common";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { logLine } from "../../src/answer/log-line.js";
import type { WebhookLogger } from "../../src/answer/logger.js";
import { checkVersion } from "../../src/common/option-checks.js";
import type { WebhookReceiverOptions } from "../../src/options/options.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../src/receiver.js";
import { nodeListener } from "../http/node-listener.js";
import { findHandlers } from "./find-handlers.js";
import { mount, type HttpAdapter } from "./mount.js";
import type { WebhookReceiverModuleOptions } from "./module-options.js";

const ADVICE =
  "Something read the body ahead of Nest: look for a server or a serverless wrapper around the app, or let" +
  " it keep the bytes in req.rawBody.";

const SUPPORTED = "Nest 10 and later";

/** Makes the receiver when the app starts, mounts it, and drains it when the app stops. */
export class MountedReceiver {
  readonly #options: WebhookReceiverModuleOptions;
  readonly #receiver: Partial<WebhookReceiver>;
  readonly #host: HttpAdapterHost;
  readonly #discovery: DiscoveryService;

  /** `receiver`: the injectable object, still empty, because the handlers may inject it. */
  constructor(
    options: WebhookReceiverModuleOptions,
    receiver: Partial<WebhookReceiver>,
    host: HttpAdapterHost,
    discovery: DiscoveryService,
  ) {
    this.#options = options;
    this.#receiver = receiver;
    this.#host = host;
    this.#discovery = discovery;
  }

  /** All providers exist now, and no request has come yet. */
  onModuleInit(): void {
    const found = ["getProviders", "getControllers"];
    checkVersion("DiscoveryService", this.#discovery, found, "@nestjs/core", SUPPORTED);
    const { path, bodyTimeoutMs, uploadTimeoutMs, logger, ...options } = this.#options;
    const made = createWebhookReceiver({
      ...options,
      handlers: findHandlers(this.#discovery),
      logger: logger ?? nestLogger(),
    } as WebhookReceiverOptions);
    const receiver = Object.assign(this.#receiver, made);
    const limits = { bodyTimeoutMs, uploadTimeoutMs };
    const listener = nodeListener("WebhookReceiverModule", receiver, limits, ADVICE);
    // An application context, such as a script or a queue's worker, has no HTTP adapter.
    const adapter = this.#host.httpAdapter as HttpAdapter | null | undefined;
    if (!adapter) return;
    checkVersion("the app", adapter, ["getType", "getInstance"], "@nestjs/core", SUPPORTED);
    mount(adapter, path, listener);
  }

  /** The first of Nest's shutdown hooks: the handlers finish while what they use is still open. */
  async onModuleDestroy(): Promise<void> {
    // There is nothing to drain if the start has failed.
    await this.#receiver.drain?.();
  }
}

/** Nest's logger prints details as entries of their own, so they go into the line. */
function nestLogger(): WebhookLogger {
  const logger = new NestLogger("WebhookReceiver");
  return {
    warn: (message, details) => logger.warn(logLine(message, details)),
    error: (message, details) => logger.error(logLine(message, details)),
  };
}
