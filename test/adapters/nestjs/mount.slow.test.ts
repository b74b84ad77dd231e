import type { IncomingMessage, ServerResponse } from "node:http";
import {
  Body,
  Controller,
  Injectable,
  Post,
  RequestMethod,
  VersioningType,
  type INestApplication,
  type MiddlewareConsumer,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import { describe, expect, it } from "vitest";
import { OnAlarm } from "../../../adapters/nestjs/index.js";
import type { DeliveryContext } from "../../../src/index.js";
import { delivery } from "../../support/deliveries.js";
import {
  PATH,
  nestStarter,
  decorate,
  rootModule,
  send,
  type NestAppOptions,
} from "../../support/nestjs/nest-app.js";
import { nestPlatforms } from "../../support/nestjs/nest-platforms.js";

const HANDLED = '200 {"outcome":"handled"}';

class Handlers {
  readonly bodies: string[] = [];
  handle(_alarm: unknown, { rawBody }: DeliveryContext): void {
    this.bodies.push(new TextDecoder().decode(rawBody));
  }
}
Injectable()(decorate(Handlers, { handle: [OnAlarm()] }));

/** A route of the app itself, which needs Nest's parser. */
class OrdersController {
  create(order: unknown): string {
    return JSON.stringify(order);
  }
}
Controller("orders")(decorate(OrdersController, { create: [Post()] }));
Body()(OrdersController.prototype, "create", 0);
Reflect.defineMetadata("design:paramtypes", [Object], OrdersController.prototype, "create");

type Middleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

const refuse: Middleware = (_req, res) => {
  res.statusCode = 401;
  res.end("answered in its place");
};

const readBody: Middleware = (req, _res, next) => {
  req.on("end", next).resume();
};

/** A Nest module whose middleware answers every route. */
class WithMiddleware {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(refuse).forRoutes({ path: "*", method: RequestMethod.ALL });
  }
}

/** What a partner's `main.ts` may do. None of it may reach a delivery. */
const surroundings: readonly (readonly [name: string, options: NestAppOptions])[] = [
  ["the default body parsers", {}],
  ["rawBody: true", { app: { rawBody: true } }],
  ["bodyParser: false", { app: { bodyParser: false } }],
  ["CORS", { app: { cors: { origin: "https://partner.example" } } }],
  ["a global prefix", { configure: (app) => app.setGlobalPrefix("api") }],
  [
    "versioning by URI",
    { configure: (app) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: "1" }) },
  ],
  ["a global guard", { configure: (app) => app.useGlobalGuards({ canActivate: () => false }) }],
  ["a middleware that answers", { configure: (app) => app.use(refuse) }],
  ["a middleware that reads the body", { configure: (app) => app.use(readBody) }],
  ["a parser in main.ts", { configure: (app) => app.use(express.json()) }],
  ["a middleware of a module that answers", { imports: [WithMiddleware] }],
];

/** What Nest adds to an app on Express. */
interface NestApplication extends INestApplication {
  set: (name: string, value: boolean) => unknown;
}

/** What a partner may do to the instance of Fastify. */
interface FastifyInstance {
  addHook(name: string, hook: (...args: unknown[]) => unknown): unknown;
  inject(request: object): Promise<{ statusCode: number; body: string }>;
}

describe.each(nestPlatforms)("the receiver of a Nest app on %s", (platform, create) => {
  const start = nestStarter(create, [Handlers]);

  it.each(surroundings)("a delivery gets past %s with its exact bytes", async (_, options) => {
    const { app, url } = await start(options);
    const { body } = await delivery();
    expect(await send(url + PATH)).toBe(HANDLED);
    expect(app.get(Handlers).bodies).toEqual([body]);
    expect(await send(url + PATH)).toBe('200 {"outcome":"duplicate"}');
    expect(await send(url + PATH, { secret: "whsec_of_someone_else_0123" })).toContain("409");
  });

  it("the app's own routes keep Nest's parser, prefix and pipes", async () => {
    const { url } = await start({
      controllers: [OrdersController],
      configure: (app: INestApplication) => {
        app.setGlobalPrefix("api");
        app.useGlobalPipes({ transform: (value: object) => ({ ...value, piped: true }) });
      },
    });
    const post = (content: string) =>
      fetch(`${url}/api/orders`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: content,
      });
    const response = await post('{"a":1}');
    expect([response.status, await response.json()]).toEqual([201, { a: 1, piped: true }]);
    expect((await post("{")).status).toBe(400);
    expect((await fetch(`${url}/api/nothing`)).status).toBe(404);
    expect(await send(url + PATH)).toBe(HANDLED);
  });

  if (platform === "fastify") {
    const instanceOf = (app: INestApplication) =>
      app.getHttpAdapter().getInstance() as unknown as FastifyInstance;

    it("a hook of the Fastify instance neither reads a delivery nor answers it", async () => {
      const { app, url } = await start({
        configure: (app) => {
          instanceOf(app).addHook("onRequest", (_request, reply) =>
            (reply as { code(status: number): { send(): unknown } }).code(401).send(),
          );
        },
      });
      expect(await send(url + PATH)).toBe(HANDLED);
      expect(app.get(Handlers).bodies).toHaveLength(1);
      expect((await fetch(`${url}/elsewhere`)).status).toBe(401);
    });

    it("a delivery that is injected into the Fastify instance is handled", async () => {
      const { app } = await start();
      const { method, headers, body } = await delivery();
      const response = await instanceOf(app).inject({ method, headers, body, url: PATH });
      expect(`${response.statusCode} ${response.body}`).toBe(HANDLED);
    });
  } else {
    it("settings that main.ts makes on the Express app have the effect that they have without the receiver", async () => {
      const configure = (app: INestApplication): void => {
        (app as NestApplication).set("case sensitive routing", true);
      };
      const statusOf = async (url: string) =>
        (await fetch(`${url}/ORDERS`, { method: "POST" })).status;
      const controllers = [OrdersController];
      const without = await NestFactory.create(rootModule({ controllers }), create(), {
        logger: false,
      });
      configure(without);
      await without.listen(0, "127.0.0.1");
      const expected = await statusOf(await without.getUrl());
      await without.close();

      const { url } = await start({ controllers, configure });
      expect(await statusOf(url)).toBe(expected);
      expect(await send(url + PATH)).toBe(HANDLED);
    });
  }
});
