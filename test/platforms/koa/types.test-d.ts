// Compiled, never run: the middleware fits wherever Koa 2 and 3 take one.
import Koa3, { type Middleware as Middleware3 } from "koa";
import Koa2, { type Middleware as Middleware2 } from "koa2";
import { koaHandler } from "../../../adapters/koa.js";
import { createWebhookReceiver } from "../../../src/index.js";

const receiver = createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined } });
const middleware = koaHandler(receiver, { bodyTimeoutMs: 1_000 });

export const middlewares: readonly [Middleware2, Middleware3] = [middleware, middleware];

new Koa2().use(middleware);
new Koa3().use(middleware).use((ctx, next) => (ctx.path === "/" ? middleware(ctx) : next()));
new Koa3<{ user: string }, { log: () => void }>().use(middleware);

// @ts-expect-error: a misspelt option
koaHandler(receiver, { bodyTimeout: 1_000 });
// @ts-expect-error: no receiver
koaHandler({});
