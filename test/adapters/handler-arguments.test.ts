import { describe, expect, test } from "vitest";
import { lambdaHandler } from "../../adapters/aws-lambda/index.js";
import { expressHandler } from "../../adapters/express.js";
import { fastifyPlugin } from "../../adapters/fastify.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { koaHandler } from "../../adapters/koa.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookReceiver } from "../../src/index.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const { receiver, reports } = recordingReceiver();

const fetchRequest = new Request("http://127.0.0.1/", { method: "POST", body: "{}" });
/** As Node passes it. */
const incoming = { method: "POST", headers: {} };

/** Each handler, an option of it with a value out of bounds, and what other frameworks call theirs with. */
const HANDLERS = [
  ["expressHandler", expressHandler, "bodyTimeoutMs", [fetchRequest, incoming]],
  ["fetchHandler", fetchHandler, "bodyTimeoutMs", [incoming, { request: fetchRequest }]],
  ["honoHandler", honoHandler, "bodyTimeoutMs", [fetchRequest, incoming]],
  ["koaHandler", koaHandler, "bodyTimeoutMs", [fetchRequest, incoming]],
  ["nodeHandler", nodeHandler, "bodyTimeoutMs", [fetchRequest, incoming]],
  ["lambdaHandler", lambdaHandler, "marginMs", []],
  [
    "fastifyPlugin",
    (given: WebhookReceiver, options: object) =>
      fastifyPlugin({ all: () => undefined }, { receiver: given, path: "/", ...options }),
    "bodyTimeoutMs",
    [],
  ],
] as const;

describe.each(HANDLERS)("%s", (name, handler, option) => {
  const call = (...given: unknown[]) =>
    Promise.resolve().then(() => (handler as (...given: unknown[]) => unknown)(...given));

  test.each<[string, unknown, object, object]>([
    ["no receiver at all", undefined, {}, { code: "invalid_receiver" }],
    [
      "what is no receiver",
      {},
      {},
      {
        code: "invalid_receiver",
        message: `${name} takes the receiver that createWebhookReceiver(options) returns`,
      },
    ],
    ["an option that is out of bounds", receiver, { [option]: 0 }, { code: "invalid_option" }],
    [
      "a misspelt option, which would keep its default unnoticed",
      receiver,
      { misspelt: 5 },
      {
        code: "unknown_option",
        message: expect.stringContaining(`misspelt is no option of ${name}`) as string,
      },
    ],
  ])(`${name} refuses %s`, async (_what, given, options, error) => {
    await expect(call(given, options)).rejects.toMatchObject(error);
  });

  test(`${name} takes either bound of ${option}, and undefined for its default`, async () => {
    const largest = option === "marginMs" ? 900_000 : 2 ** 31 - 1;
    for (const value of [1, largest, undefined]) {
      const made = typeof (await call(receiver, { [option]: value }));
      expect(made).toBe(name === "fastifyPlugin" ? "undefined" : "function");
    }
  });
});

test.each(HANDLERS.filter(([, , , others]) => others.length > 0))(
  "the handler of %s rejects what is no request of its framework",
  async (name, handler, _option, others) => {
    const handle = handler(receiver, {}) as (given: unknown) => unknown;
    for (const given of [undefined, {}, ...others]) {
      await expect(Promise.resolve().then(() => handle(given))).rejects.toMatchObject({
        name: "ConfigurationError",
        message: expect.stringContaining(`the handler of ${name} must be called with `) as string,
      });
    }
    expect(reports).toEqual([]);
  },
);
