import { Inject, Module, type DynamicModule, type FactoryProvider } from "@nestjs/common";
import { DiscoveryModule, DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { ownOptions } from "../../src/common/option-checks.js";
import {
  moduleOptions,
  type WebhookReceiverModuleAsyncOptions,
  type WebhookReceiverModuleOptions,
} from "./module-options.js";
import { mountedReceiver } from "./mounted-receiver.js";

/**
 * Injects the receiver, a `WebhookReceiver`: for a health check or a `drain` of your own. It is complete when
 * `onModuleInit` of the module has run, so use it in `onApplicationBootstrap` or later.
 *
 * @example
 * ```ts
 * @Controller("health")
 * class HealthController {
 *   constructor(@InjectWebhookReceiver() private readonly receiver: WebhookReceiver) {}
 * }
 * ```
 */
export function InjectWebhookReceiver(): ReturnType<typeof Inject> {
  return Inject(RECEIVER);
}

const RECEIVER = Symbol.for("identity-gateway-webhooks.nestjs.receiver");
const OPTIONS = Symbol.for("identity-gateway-webhooks.nestjs.options");
const MOUNTED = Symbol.for("identity-gateway-webhooks.nestjs.mounted");
const CALL = Symbol.for("identity-gateway-webhooks.nestjs.call");

let calls = 0;

/**
 * Receives the webhooks in a Nest app, 10 or later, on Express or Fastify. The handlers are methods of
 * providers with `@OnAlarm()`, `@OnOnlineDataEvent()` or `@OnUnrecognized()`.
 *
 * The receiver is mounted ahead of the body parsers and of everything else, so leave `bodyParser` as it
 * is. Nest's global prefix, versions, middleware, guards, pipes, interceptors and filters do not apply to
 * it. When the app closes, it drains: call `app.enableShutdownHooks()`, and close what handlers use in
 * `onApplicationShutdown`. Without an HTTP server (`NestFactory.createApplicationContext`) nothing is
 * mounted.
 */
// Nest knows a module by its class.
// oxlint-disable-next-line typescript/no-extraneous-class
export class WebhookReceiverModule {
  /**
   * The module with these options.
   *
   * @throws ConfigurationError if `path` cannot be mounted and for an unknown option. When the app starts:
   * if another option cannot work, if there is no handler, if two methods handle the same deliveries, if
   * the provider of a handler is no singleton, if the platform is neither Express nor Fastify, and if its
   * version cannot work.
   * @example
   * ```ts
   * @Module({
   *   imports: [
   *     WebhookReceiverModule.forRoot({
   *       path: "/webhooks/gateway",
   *       secret: process.env.GATEWAY_WEBHOOK_SECRET,
   *     }),
   *   ],
   *   providers: [AlarmHandlers],
   * })
   * class AppModule {}
   * ```
   */
  static forRoot(options: WebhookReceiverModuleOptions): DynamicModule {
    const checked = moduleOptions(options);
    return dynamicModule({ useFactory: () => checked });
  }

  /**
   * The module with options that a factory makes from what it injects. The errors are those of `forRoot`,
   * all when the app starts.
   *
   * @example
   * ```ts
   * WebhookReceiverModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({
   *     path: "/webhooks/gateway",
   *     secret: config.getOrThrow<string>("GATEWAY_WEBHOOK_SECRET"),
   *   }),
   * });
   * ```
   */
  static forRootAsync(options: WebhookReceiverModuleAsyncOptions): DynamicModule {
    const names = ["imports", "inject", "useFactory"];
    const { useFactory, ...others } = ownOptions("forRootAsync", options, names);
    return dynamicModule({
      ...others,
      useFactory: async (...injected: unknown[]) => moduleOptions(await useFactory(...injected)),
    });
  }
}

// Not as a decorator: the source of this package is compiled without experimentalDecorators.
Module({})(WebhookReceiverModule);

function dynamicModule({
  imports = [],
  inject = [],
  useFactory,
}: WebhookReceiverModuleAsyncOptions): DynamicModule {
  calls += 1;
  const options: FactoryProvider = { provide: OPTIONS, inject, useFactory };
  const mounted: FactoryProvider = {
    provide: MOUNTED,
    inject: [OPTIONS, RECEIVER, HttpAdapterHost, DiscoveryService],
    useFactory: mountedReceiver,
  };
  return {
    module: WebhookReceiverModule,
    imports: [...imports, DiscoveryModule],
    providers: [
      options,
      mounted,
      { provide: RECEIVER, useFactory: () => ({}) },
      // Nest 10 takes two modules for one if their providers look the same.
      { provide: CALL, useValue: calls },
    ],
    exports: [RECEIVER],
  };
}
