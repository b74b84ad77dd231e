// index.test.mjs: a test of the Worker in src/index.js, on workerd. Run node --test index.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { build } from "esbuild";
import {
  TEST_SECRET,
  receiverConformance,
  runConformance,
} from "identity-gateway-webhooks/testing";
import { Miniflare } from "miniflare";

// The handlers print a line that begins with the id: this counts these lines, and makes them fail.
const probe = `
  import worker from "./src/index.js";
  const runs = new Map();
  let isDown = false;
  console.log = (line) => {
    if (isDown) throw new Error("the work fails");
    const [id] = line.split(": ");
    runs.set(id, (runs.get(id) ?? 0) + 1);
  };
  console.warn = console.error = () => {};
  export default {
    fetch(request, env, ctx) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/probe") return worker.fetch(request, env, ctx);
      if (searchParams.has("down")) isDown = searchParams.get("down") === "true";
      return Response.json(runs.get(searchParams.get("id")) ?? 0);
    },
  };`;

test("each delivery is handled once, and a forged one never", { timeout: 300_000 }, async () => {
  const { outputFiles } = await build({
    stdin: { contents: probe, resolveDir: "." },
    bundle: true,
    write: false,
    format: "esm",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:*"],
  });
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    compatibilityDate: "2026-04-01",
    d1Databases: ["DB"],
    bindings: { GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
  });
  try {
    const database = await worker.getD1Database("DB");
    const migration = await readFile("migrations/0001_gateway_deliveries.sql", "utf8");
    await database.prepare(migration).run();
    const ask = async (about) =>
      (await worker.dispatchFetch(`http://worker/probe?${about}`)).json();
    const cases = receiverConformance({
      secret: TEST_SECRET,
      handled: (id) => ask(`id=${id}`),
      whileFailing: async (work) => {
        await ask("down=true");
        return work().finally(() => ask("down=false"));
      },
      target: async ({ method, headers, body }) => {
        const sent = body === null ? undefined : await new Response(body).arrayBuffer();
        const init = { method, headers: Object.fromEntries(headers), body: sent };
        const answer = await worker.dispatchFetch("http://worker/", init);
        const text = answer.status === 204 ? null : await answer.text();
        return new Response(text, { status: answer.status, headers: [...answer.headers] });
      },
    });
    const { results } = await runConformance(cases, { concurrency: 4 });
    const open = results.filter(
      ({ result, level, need }) =>
        // Nothing here is slow, or about connections.
        (result === "failed" && level === "must") ||
        (result === "not_judged" && need !== "whileSlow" && need !== "url"),
    );
    const reasons = open.map(({ id, reason }) => `${id}: ${reason}`);
    assert.deepEqual(reasons, []);
  } finally {
    await worker.dispose();
  }
});
