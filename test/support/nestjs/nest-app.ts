import type { AddressInfo } from "node:net";
import type {
  INestApplication,
  ModuleMetadata,
  NestApplicationOptions,
  Type,
} from "@nestjs/common";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import { afterEach } from "vitest";
import {
  InjectWebhookReceiver,
  OnAlarm,
  WebhookReceiverModule,
  type WebhookReceiverModuleOptions,
} from "../../../adapters/nestjs/index.js";
import type { WebhookReceiver } from "../../../src/index.js";
import { delivery, TEST_SECRET, NOW_MS, type DeliveryOverrides } from "../deliveries.js";
import type { AdapterTarget } from "../adapters/adapter-exchange.js";
import { http1Client } from "../adapters/http-clients.js";

export const PATH = "/webhooks/gateway";

/** Options of the module with the tests' secret and clock. */
export const moduleDefaults: WebhookReceiverModuleOptions = {
  path: PATH,
  secret: TEST_SECRET,
  now: () => NOW_MS,
  logger: false,
};

/** Applies decorators to methods of a class, as TypeScript does: the last one first. */
export function decorate<Class extends Type>(
  target: Class,
  decorators: { readonly [Method in keyof InstanceType<Class>]?: readonly unknown[] },
): Class {
  for (const [method, list] of Object.entries(decorators) as [string, MethodDecorator[]][]) {
    const prototype = target.prototype as object;
    const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
    for (const decorator of list.toReversed()) decorator(prototype, method, descriptor ?? {});
    if (descriptor !== undefined) Object.defineProperty(prototype, method, descriptor);
  }
  return target;
}

/** A provider with the receiver of its app. */
export class ReceiverHolder {
  constructor(readonly receiver: WebhookReceiver) {}
}
Injectable()(ReceiverHolder);
InjectWebhookReceiver()(ReceiverHolder, undefined, 0);

/** A root module. */
export function rootModule(metadata: ModuleMetadata): Type {
  class AppModule {}
  Module(metadata)(AppModule);
  return AppModule;
}

/** What a test changes of an app. */
export interface NestAppOptions extends ModuleMetadata {
  readonly receiver?: Partial<WebhookReceiverModuleOptions>;
  readonly app?: NestApplicationOptions;
  /** What `main.ts` does between `create` and `listen`. */
  readonly configure?: (app: INestApplication) => unknown;
}

/** An app that listens on a free port of 127.0.0.1. */
export type NestApp = Awaited<ReturnType<typeof startNest>>;

/** The root module of an app with the receiver. */
export function appModule({ imports = [], receiver, ...metadata }: NestAppOptions): Type {
  const options = { ...moduleDefaults, ...receiver } as WebhookReceiverModuleOptions;
  return rootModule({
    ...metadata,
    imports: [WebhookReceiverModule.forRoot(options), ...imports],
  });
}

/** Starts an app with the receiver. */
export async function startNest(
  adapter: AbstractHttpAdapter,
  { app: appOptions, configure, ...options }: NestAppOptions,
) {
  const app: INestApplication = await NestFactory.create(appModule(options), adapter, {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
    ...appOptions,
  });
  try {
    await configure?.(app);
    await app.listen(0, "127.0.0.1");
  } catch (error) {
    await app.close();
    throw error;
  }
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  return { app, url: `http://127.0.0.1:${port}`, close: () => app.close() };
}

/** Sends a signed delivery; resolves to the status and the outcome. */
export async function send(url: string, overrides: DeliveryOverrides = {}): Promise<string> {
  const { method, headers, body } = await delivery(overrides);
  const response = await fetch(url, { method, headers, body: body as string });
  return `${response.status} ${await response.text()}`;
}

/** Starts apps with these providers unless others are given. Each is closed after its test. */
export function nestStarter(create: () => AbstractHttpAdapter, providers: Type[] = []) {
  const running: NestApp[] = [];
  afterEach(async () => {
    for (const { close } of running.splice(0)) await close();
  });
  return async (options: NestAppOptions = {}, adapter = create()): Promise<NestApp> => {
    const app = await startNest(adapter, { providers, ...options });
    running.push(app);
    return app;
  };
}

class NoHandlers {
  handle(): void {
    throw new Error("the receiver of the case takes every delivery");
  }
}
Injectable()(decorate(NoHandlers, { handle: [OnAlarm()] }));

/** A Nest app whose module has made way for the receiver of a case. */
export function nestTarget(name: string, create: () => AbstractHttpAdapter): AdapterTarget {
  return {
    name,
    async open(receiver) {
      const { maxBodyBytes } = receiver;
      const { app, url, close } = await startNest(create(), {
        providers: [NoHandlers, ReceiverHolder],
        receiver: { path: "/", maxBodyBytes },
      });
      Object.assign(app.get(ReceiverHolder).receiver, receiver);
      const client = http1Client(Number(new URL(url).port));
      return {
        target: url,
        send: client.send,
        connections: client.connections,
        close() {
          client.close();
          return close();
        },
      };
    },
  };
}
