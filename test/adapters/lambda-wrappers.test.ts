import fastify from "fastify";
import { once } from "node:events";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { lambdaHandler } from "../../adapters/aws-lambda/index.js";
import { expressHandler } from "../../adapters/express.js";
import { fastifyPlugin } from "../../adapters/fastify.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { koaHandler } from "../../adapters/koa.js";
import type { WebhookReceiver } from "../../src/index.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
import { observedAlarmReceiver, type AlarmHandler } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";
import { spiedStore } from "../support/spied-store.js";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "webhooks");
});

const TIMEOUT_MS = 10_000;
const PATH = "/webhooks/gateway";

type Context = { readonly getRemainingTimeInMillis?: () => number } | undefined;
type SignedDelivery = Awaited<ReturnType<typeof delivery>>;
/** Passes a delivery and the context of its invocation to an app. Resolves to the status. */
type Invoke = (delivery: SignedDelivery, context: Context) => Promise<number>;

/** As serverless-http makes it. */
async function invokeListener(
  listener: (req: never, res: never) => unknown,
  { headers, body }: SignedDelivery,
  context: Context,
): Promise<number> {
  const req = shimRequest({ headers, apiGateway: { context } });
  req._read = () => {
    for (const chunk of [body, null]) req.push(chunk);
  };
  const { res, written } = shimResponse(req);
  void listener(req as never, res as never);
  await once(written, "data");
  return res.statusCode;
}

/** Every adapter, in an app as a wrapper of Lambda calls it. */
const WRAPPERS: Readonly<Record<string, (receiver: WebhookReceiver) => Invoke>> = {
  lambdaHandler(receiver) {
    const handler = lambdaHandler(receiver);
    return async ({ headers, body }, context) => {
      const event = { httpMethod: "POST", headers, body: String(body) };
      return (await handler(event, context as never)).statusCode;
    };
  },
  "hono/aws-lambda"(receiver) {
    const app = new Hono();
    app.all(PATH, honoHandler(receiver));
    // oxlint-disable-next-line typescript/no-deprecated -- what Hono 4 ships
    const handler = handle(app);
    return async ({ headers, body }, context) => {
      const http = { method: "POST", path: PATH };
      const requestContext = { http, domainName: "localhost" };
      const event = { version: "2.0", rawPath: PATH, rawQueryString: "", headers, requestContext };
      const given = { ...event, body: String(body), isBase64Encoded: false };
      const result: object = await handler(given as never, context as never);
      return (result as { readonly statusCode: number }).statusCode;
    };
  },
  "@fastify/aws-lambda"(receiver) {
    const app = fastify();
    let context: Context;
    app.decorateRequest("awsLambda", { getter: () => ({ context }) });
    void app.register(fastifyPlugin, { receiver, path: PATH });
    return async ({ headers, body }, given) => {
      context = given;
      const request = { method: "POST", url: PATH, headers, payload: Buffer.from(body) } as const;
      return (await app.inject(request)).statusCode;
    };
  },
  "serverless-http with Express"(receiver) {
    const listener = expressHandler(receiver);
    return (sent, context) => invokeListener(listener, sent, context);
  },
  "serverless-http with Koa"(receiver) {
    const handler = koaHandler(receiver);
    return (sent, context) =>
      invokeListener(
        (req, res) => handler({ req, res, request: {}, onerror: () => undefined }),
        sent,
        context,
      );
  },
  "a wrapper that passes the context to fetchHandler"(receiver) {
    const handler = fetchHandler(receiver);
    return async ({ headers, body }, context) => {
      const request = new Request(`https://localhost${PATH}`, { method: "POST", headers, body });
      return (await handler(request, context)).status;
    };
  },
};

function contextOf(): Context {
  const endsAt = Date.now() + TIMEOUT_MS;
  return { getRemainingTimeInMillis: () => endsAt - Date.now() };
}

async function invoked(
  wrap: (receiver: WebhookReceiver) => Invoke,
  handler: AlarmHandler,
  options: Partial<CommonReceiverOptions> = {},
  context = contextOf(),
) {
  const spy = spiedStore();
  const observed = observedAlarmReceiver(handler, {
    leaseMs: 60_000,
    handlerTimeoutMs: 1_000,
    store: spy.store,
    ...options,
  });
  const invoke = wrap(observed.receiver);
  const startedAt = Date.now();
  let ms: number | undefined;
  const status = invoke(await delivery(), context);
  void status.then(() => (ms = Date.now() - startedAt));
  await pass(0);
  return { ...observed, invoke, spy, status, ms: () => ms };
}

describe.each(Object.entries(WRAPPERS))("on Lambda, through %s", (_name, wrap) => {
  it("a handler that is slower than handlerTimeoutMs is awaited, and its success is answered 200", async () => {
    const wait = () => new Promise<void>((resolve) => setTimeout(resolve, 5_000));
    const { status, ms, lines } = await invoked(wrap, wait);
    await pass(4_900);
    expect(ms()).toBeUndefined();
    await pass(200);
    expect(await status).toBe(200);
    expect(lines).toEqual([]);
  });

  it("a handler that still runs shortly before the time-out is given up, and its lease is left to end", async () => {
    const { status, ms, spy } = await invoked(wrap, () => never());
    await pass(8_900);
    expect(ms()).toBeUndefined();
    await pass(200);
    expect(await status).toBe(503);
    const { calls } = spy;
    expect([spy.count("claim"), spy.count("release")]).toEqual([1, 0]);
    const before = calls.length;
    await pass(120_000);
    expect(calls).toHaveLength(before);
  });

  it("where the remaining time is not known, handlerMaxMs takes its place, and one line says so", async () => {
    const options = { handlerMaxMs: 3_000 };
    const { invoke, status, ms, lines } = await invoked(wrap, () => never(), options, {});
    await pass(2_900);
    expect(ms()).toBeUndefined();
    await pass(200);
    expect(await status).toBe(503);
    const again = invoke(await delivery({ id: "another" }), undefined);
    await pass(4_000);
    expect(await again).toBe(503);
    expect(linesWith(lines, "the remaining time of an invocation is not known")).toHaveLength(1);
  });
});

it("a platform on Lambda whose context has waitUntil is answered after handlerTimeoutMs, and holds the handler", async () => {
  const held: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => held.push(work) };
  const { receiver } = observedAlarmReceiver(() => never(), { handlerTimeoutMs: 1_000 });
  const { headers, body } = await delivery();
  const request = new Request(`https://localhost${PATH}`, { method: "POST", headers, body });
  const answer = fetchHandler(receiver)(request, context);
  await pass(1_100);
  expect((await answer).status).toBe(503);
  expect(held).toHaveLength(1);
});
