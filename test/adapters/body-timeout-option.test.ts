import { describe, expect, it } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fastifyHandler } from "../../adapters/fastify.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { koaHandler } from "../../adapters/koa.js";
import { nodeHandler } from "../../adapters/node.js";
import { ConfigurationError } from "../../src/index.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";

/** As the others, which take no path. */
const fastifyHandlerAtRoot: typeof koaHandler = (receiver, options) =>
  fastifyHandler(receiver, { path: "/", ...options }) as never;

describe.each([
  ["expressHandler", expressHandler],
  ["fastifyHandler", fastifyHandlerAtRoot],
  ["fetchHandler", fetchHandler],
  ["honoHandler", honoHandler],
  ["koaHandler", koaHandler],
  ["nodeHandler", nodeHandler],
])("%s", (_name, handler) => {
  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31])("refuses bodyTimeoutMs: %d", (bodyTimeoutMs) => {
    const { receiver } = createBodyReceiver();
    expect(() => handler(receiver, { bodyTimeoutMs })).toThrow(ConfigurationError);
  });

  it("refuses another option, which would keep its default unnoticed", () => {
    const { receiver } = createBodyReceiver();
    const misspelt = { bodyTimeout: 5 } as object;
    expect(() => handler(receiver, misspelt)).toThrow("bodyTimeout is no option");
  });

  it.each([1, 2 ** 31 - 1, undefined])("takes bodyTimeoutMs: %s", (bodyTimeoutMs) => {
    const { receiver } = createBodyReceiver();
    expect(handler(receiver, { bodyTimeoutMs })).toBeTypeOf("function");
  });
});
