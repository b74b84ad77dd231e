import { expect, test } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { koaHandler } from "../../adapters/koa.js";
import { nodeHandler } from "../../adapters/node.js";
import { ConfigurationError } from "../../src/index.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const { receiver, reports } = recordingReceiver();
type Handler = (...given: unknown[]) => unknown;

const request = new Request("http://127.0.0.1/", { method: "POST", body: "{}" });
/** As Node passes it. */
const incoming = { method: "POST", headers: {} };
const HANDLERS = {
  fetchHandler: [fetchHandler(receiver) as Handler, incoming, { request }],
  honoHandler: [honoHandler(receiver) as Handler, request, incoming],
  koaHandler: [koaHandler(receiver) as Handler, request, incoming],
  nodeHandler: [nodeHandler(receiver) as Handler, request, incoming],
  expressHandler: [expressHandler(receiver) as Handler, request, incoming],
} as const;

test.each(Object.entries(HANDLERS))(
  "%s that is called with something else than a request of its framework rejects with a ConfigurationError",
  async (name, [handler, ...others]) => {
    for (const given of [undefined, null, "x", {}, ...others]) {
      const called = Promise.resolve().then(() => handler(given));
      await expect(called).rejects.toThrow(ConfigurationError);
      await expect(called).rejects.toThrow(`the handler of ${name} must be called with `);
    }
    expect(reports).toEqual([]);
  },
);
