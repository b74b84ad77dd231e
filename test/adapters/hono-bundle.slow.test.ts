import { build, type Metafile } from "esbuild";
import { expect, it } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

/** A Hono app with the built package in it, as a bundler for workers makes it. */
const ENTRY = `
  import { Hono } from "hono";
  import { createWebhookReceiver, signDelivery } from "./dist/index.js";
  import { honoHandler } from "./dist/hono.js";
  globalThis.library = { Hono, createWebhookReceiver, signDelivery, honoHandler };`;

/** The imports that a bundle leaves to its runtime, except the one that lru-cache can do without. */
function externalsOf({ inputs }: Metafile): string[] {
  return Object.entries(inputs).flatMap(([file, { imports }]) =>
    imports
      .filter(({ external }) => external === true)
      .filter(({ kind }) => !(file.includes("/lru-cache/") && kind === "dynamic-import"))
      .map((external) => `${file}: ${external.path}`),
  );
}

it.each(["neutral", "browser"] as const)(
  "a bundle for workers (%s) with Hono imports nothing of Node",
  async (platform) => {
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
    expect(outputFiles[0]?.text).toContain("honoHandler");
    expect(externalsOf(metafile)).toEqual([]);
  },
);
