import { describe, expect, it } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fastifyPlugin } from "../../adapters/fastify.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { koaHandler } from "../../adapters/koa.js";
import { nodeHandler } from "../../adapters/node.js";
import { ConfigurationError } from "../../src/index.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";

describe.each([
  ["expressHandler", expressHandler],
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

describe("fastifyPlugin", () => {
  const register = (options: object) => {
    const { receiver } = createBodyReceiver();
    return fastifyPlugin({ all: () => undefined }, { receiver, path: "/", ...options });
  };

  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31])(
    "refuses bodyTimeoutMs: %d",
    async (bodyTimeoutMs) => {
      await expect(register({ bodyTimeoutMs })).rejects.toThrow(ConfigurationError);
    },
  );

  it("refuses another option, which would keep its default unnoticed", async () => {
    await expect(register({ bodyTimeout: 5 })).rejects.toThrow("bodyTimeout is no option");
  });

  it.each([1, 2 ** 31 - 1, undefined])("takes bodyTimeoutMs: %s", async (bodyTimeoutMs) => {
    await expect(register({ bodyTimeoutMs })).resolves.toBeUndefined();
  });
});
