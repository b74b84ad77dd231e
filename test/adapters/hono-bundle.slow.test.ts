import { existsSync } from "node:fs";
import path from "node:path";
import vm from "node:vm";
import { build, type Metafile } from "esbuild";
import { describe, expect, it } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

/** A Hono app with the built package in it, as a bundler for workers makes it. */
const ENTRY = `
  import { Hono } from "hono";
  import { createWebhookReceiver, signDelivery } from "./dist/index.js";
  import { honoHandler } from "./dist/hono.js";
  globalThis.library = { Hono, createWebhookReceiver, signDelivery, honoHandler };`;

const SCRIPT = `(async () => {
  const { Hono, createWebhookReceiver, signDelivery, honoHandler } = library;
  const seen = [];
  const outcomes = [];
  const receiver = createWebhookReceiver({
    secret: "s",
    maxBodyBytes: 1_000,
    handlers: { unrecognized: ({ body }) => void seen.push(body.a) },
    onOutcome: ({ outcome }) => void outcomes.push(outcome),
    logger: false,
  });
  const app = new Hono().post("/", honoHandler(receiver));
  const timestamp = Math.floor(Date.now() / 1000);
  const send = async (id, env, body = '{"a":1}') => {
    const signature = await signDelivery({ secret: "s", id, timestamp, body });
    const headers = { "x-webhook-id": id, "x-webhook-type": "new_alarm", "x-webhook-timestamp": String(timestamp), "x-webhook-signature": signature };
    const request = new Request("https://partner.example/", { method: "POST", headers, body });
    return (await app.fetch(request, env)).status;
  };
  const statuses = [
    await send("none"),
    await send("bindings", { DB: {}, incoming: "a binding" }),
    await send("null", null),
    await send("imitation", { incoming: { listenerCount: () => 0, readableDidRead: false } }),
    await send("large", {}, " ".repeat(2_000)),
  ];
  return { statuses, seen, outcomes, globals: [typeof process, typeof Buffer, typeof require] };
})()`;

/** The imports that a bundle leaves to its runtime, except the one that lru-cache can do without. */
function externalsOf({ inputs }: Metafile): string[] {
  return Object.entries(inputs).flatMap(([file, { imports }]) =>
    imports
      .filter(({ external }) => external === true)
      .filter(({ kind }) => !(file.includes("/lru-cache/") && kind === "dynamic-import"))
      .map((external) => `${file}: ${external.path}`),
  );
}

describe.each(["neutral", "browser"] as const)("a bundle for workers (%s)", (platform) => {
  it("imports nothing of Node and receives behind Hono", async () => {
    expect(existsSync(path.join(REPOSITORY, "dist/index.js"))).toBe(true);
    const { outputFiles, metafile } = await build({
      stdin: { contents: ENTRY, resolveDir: REPOSITORY },
      bundle: true,
      write: false,
      metafile: true,
      format: "iife",
      platform,
      mainFields: ["module", "main"],
      conditions: ["workerd"],
      tsconfigRaw: "{}",
      logLevel: "error",
    });
    const code = outputFiles[0]?.text ?? "";
    expect(code).toContain("honoHandler");
    expect(externalsOf(metafile)).toEqual([]);

    const web = vm.createContext({
      AbortController,
      Headers,
      ReadableStream,
      Request,
      Response,
      TextDecoder,
      TextEncoder,
      URL,
      URLSearchParams,
      clearTimeout,
      crypto,
      performance,
      setTimeout,
    });
    vm.runInContext(code, web);
    expect(await vm.runInContext(SCRIPT, web)).toEqual({
      statuses: [200, 200, 200, 200, 409],
      seen: [1, 1, 1, 1],
      outcomes: ["handled", "handled", "handled", "handled", "body_too_large"],
      globals: ["undefined", "undefined", "undefined"],
    });
  });
});
