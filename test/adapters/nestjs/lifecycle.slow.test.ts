import {
  Injectable,
  Module,
  type INestApplication,
  type INestApplicationContext,
  type LoggerService,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { Test } from "@nestjs/testing";
import request from "supertest";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import {
  InjectWebhookReceiver,
  OnAlarm,
  WebhookReceiverModule,
  type WebhookReceiverModuleOptions,
} from "../../../adapters/nestjs/index.js";
import { mount } from "../../../adapters/nestjs/mounted-receiver.js";
import type { WebhookReceiver } from "../../../src/index.js";
import { createCollector } from "../../support/collector.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import {
  PATH,
  ReceiverHolder,
  appModule,
  decorate,
  moduleDefaults,
  nestStarter,
  rootModule,
  send,
  startNest,
} from "../../support/nestjs/nest-app.js";
import { nestPlatforms } from "../../support/nestjs/nest-platforms.js";

const HANDLED = '200 {"outcome":"handled"}';
const QUIET = { logger: false, abortOnError: false } as const;

class Handlers {
  runs = 0;
  work: () => unknown = () => undefined;
  async handle(): Promise<void> {
    this.runs += 1;
    await this.work();
  }
}
Injectable()(decorate(Handlers, { handle: [OnAlarm()] }));

const refusal = (code: string): Error => expect.objectContaining({ code }) as Error;

const thrownBy = (start: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(start)
    .catch((error: unknown) => error);

describe.each(nestPlatforms)("the module of a Nest app on %s", (_, create) => {
  const start = nestStarter(create, [Handlers]);

  const listen = async (app: INestApplication): Promise<string> => {
    onTestFinished(() => app.close());
    await app.listen(0, "127.0.0.1");
    return app.getUrl();
  };

  it("forRootAsync makes the options from what it injects from its imports", async () => {
    class SecretModule {}
    const secret = { provide: "options", useValue: moduleDefaults };
    Module({ providers: [secret], exports: ["options"] })(SecretModule);
    const imports = [
      WebhookReceiverModule.forRootAsync({
        imports: [SecretModule],
        inject: ["options"],
        useFactory: (options: WebhookReceiverModuleOptions) => Promise.resolve(options),
      }),
    ];
    const AppModule = rootModule({ imports, providers: [Handlers] });
    const url = await listen(await NestFactory.create(AppModule, create(), QUIET));
    expect(await send(url + PATH)).toBe(HANDLED);
  });

  it("closing the app waits for running handlers, refuses new deliveries and only then closes the server", async () => {
    const order: string[] = [];
    class Pool {
      onApplicationShutdown(): void {
        order.push("pool closed");
      }
    }
    Injectable()(Pool);
    const { app, url, close } = await start({ providers: [Handlers, Pool] });
    const handlers = app.get(Handlers);
    const work = deferred();
    handlers.work = () => work.promise.then(() => order.push("handled"));

    const first = send(url + PATH, { id: "first" });
    await expect.poll(() => handlers.runs).toBe(1);
    const closing = close();
    await expect.poll(() => send(url + PATH, { id: "second" })).toContain('503 {"error"');
    expect(order).toEqual([]);
    work.resolve();
    expect(await first).toBe(HANDLED);
    await closing;
    expect(order).toEqual(["handled", "pool closed"]);
    await expect(send(url + PATH)).rejects.toThrow();
  });

  it("an app that was never started can be closed", async () => {
    const app = await NestFactory.create(
      appModule({ providers: [ReceiverHolder] }),
      create(),
      QUIET,
    );
    await app.close();
    expect(app.get(ReceiverHolder).receiver).toEqual({});
  });

  it("the receiver can be injected, also by a handler", async () => {
    class Injecting {
      constructor(readonly receiver: WebhookReceiver) {}
      handle(): void {
        expect(typeof this.receiver.drain).toBe("function");
      }
    }
    Injectable()(decorate(Injecting, { handle: [OnAlarm()] }));
    InjectWebhookReceiver()(Injecting, undefined, 0);
    const { app, url } = await start({ providers: [Injecting] });
    expect(await send(url + PATH)).toBe(HANDLED);
    expect(await app.get(Injecting).receiver.drain()).toEqual({ idle: true, running: 0 });
    expect(await send(url + PATH)).toContain("503");
  });

  it("without a logger the log goes to Nest's, one line an entry, with the context WebhookReceiver", async () => {
    const entries: unknown[][] = [];
    const keep = (...entry: unknown[]): void => void entries.push(entry);
    const nest: LoggerService = { log: () => undefined, warn: keep, error: keep };
    const { app, url } = await start({ app: { logger: nest }, receiver: { logger: undefined } });
    await send(url + PATH, { id: "a", secret: "whsec_of_someone_else_0123" });
    app.get(Handlers).work = () => Promise.reject(new Error("no database"));
    await send(url + PATH, { id: "b" });
    const ours = entries.filter((entry) => entry.at(-1) === "WebhookReceiver");
    expect(ours).toHaveLength(2);
    expect(ours[0]?.[0]).toMatch(/^identity-gateway-webhooks: signature_mismatch.* status=409/);
    expect(ours[1]?.[0]).toMatch(/handler_failed.* err="Error: no database" /);
  });

  it("a logger in the options takes the place of Nest's", async () => {
    const { lines, options } = createCollector();
    const { url } = await start({ receiver: options });
    await send(url + PATH, { secret: "whsec_of_someone_else_0123" });
    expect(lines).toHaveLength(1);
  });

  it("two modules with paths of their own are two receivers", async () => {
    const second = WebhookReceiverModule.forRoot({
      ...moduleDefaults,
      secret: "whsec_of_someone_else_0123",
      path: "/second",
    } as WebhookReceiverModuleOptions);
    const { url } = await start({ imports: [second] });
    expect(await send(url + PATH)).toBe(HANDLED);
    expect(await send(`${url}/second`, { secret: "whsec_of_someone_else_0123" })).toBe(HANDLED);
    expect(await send(`${url}/second`, { id: "b" })).toContain("409");
  });

  it("a testing module's app receives deliveries", async () => {
    const builder = Test.createTestingModule({
      imports: [WebhookReceiverModule.forRoot(moduleDefaults)],
      providers: [Handlers],
    });
    const app = (await builder.compile()).createNestApplication(create(), { logger: false });
    const url = await listen(app);
    const { headers, body } = await delivery();
    const { status } = await request(url).post(PATH).set(headers).send(body);
    expect([status, app.get(Handlers).runs]).toEqual([200, 1]);
  });

  it("options of forRootAsync that cannot work are refused when the app starts", async () => {
    const startWith = (options: unknown) => async (): Promise<unknown> => {
      const useFactory = () => Promise.resolve(options as WebhookReceiverModuleOptions);
      const imports = [WebhookReceiverModule.forRootAsync({ useFactory })];
      return NestFactory.create(rootModule({ imports }), create(), QUIET);
    };
    expect(await thrownBy(startWith(undefined))).toMatchObject({ code: "invalid_options" });
    expect(await thrownBy(startWith({ path: "/", secrets: [] }))).toMatchObject({
      code: "unknown_option",
    });
    expect(await thrownBy(startWith({ secret: "s" }))).toMatchObject({ code: "invalid_option" });
  });
});

describe("an application context", () => {
  let context: INestApplicationContext | undefined;
  afterEach(() => context?.close());

  it("without an HTTP server nothing is mounted, and the receiver works when it is called", async () => {
    const AppModule = appModule({ providers: [Handlers, ReceiverHolder] });
    context = await NestFactory.createApplicationContext(AppModule, QUIET);
    const { receiver } = context.get(ReceiverHolder);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handled" });
  });
});

describe("the options of the module", () => {
  it.each(["webhooks", "", "/a b", "/webhooks/:id", "/webhooks/*", "/a?b", undefined, 7, null])(
    "the path %j is refused",
    (path) => {
      expect(() =>
        WebhookReceiverModule.forRoot({ ...moduleDefaults, path: path as string }),
      ).toThrow(refusal("invalid_option"));
    },
  );

  it.each(["handlers", "handlerTimeout", "Path"])("the option %s is refused", (name) => {
    const options = { ...moduleDefaults, [name]: {} };
    expect(() => WebhookReceiverModule.forRoot(options)).toThrow(refusal("unknown_option"));
  });

  it("an option of forRootAsync that does not exist is refused", () => {
    const options = { useFactory: () => moduleDefaults, useClass: Handlers };
    expect(() => WebhookReceiverModule.forRootAsync(options)).toThrow(refusal("unknown_option"));
  });
});

describe("a platform that the module does not know", () => {
  const listener = (): void => undefined;

  it("an app on another platform is refused when it starts", async () => {
    const adapter = new ExpressAdapter();
    adapter.getType = () => "other";
    const error = await thrownBy(() => startNest(adapter, { providers: [Handlers] }));
    expect(error).toMatchObject({ code: "unsupported_platform" });
    expect((error as Error).message).toMatch(/not on other$/);
  });

  it("a Nest whose adapter lacks a method that the module calls is refused when it starts", async () => {
    const adapter = Object.assign(new ExpressAdapter(), { getType: undefined });
    const error = await thrownBy(() => startNest(adapter, { providers: [Handlers] }));
    expect(error).toMatchObject({ code: "unsupported_version" });
    expect((error as Error).message).toMatch(/method getType, .* Supported: Nest 10 and later$/);
  });

  it("a version of Express or Fastify without the list that the module needs is refused", () => {
    const express = { all: () => undefined };
    const fastify = {
      register(plugin: (scope: object, options: unknown, done: () => void) => void) {
        plugin({ all: () => undefined }, {}, () => undefined);
      },
    };
    for (const [type, instance] of Object.entries({ express, fastify, "": {} })) {
      const adapter = { getType: () => type, getInstance: () => instance };
      expect(() => mount(adapter, PATH, listener)).toThrow(
        refusal(type === "" ? "unsupported_platform" : "unsupported_version"),
      );
    }
  });
});
