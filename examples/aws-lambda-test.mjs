// index.test.mjs: a test of the function in index.ts. Bundle it, then run node --test index.test.mjs.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import dynalite from "dynalite";
import { createDynamoTable } from "identity-gateway-webhooks/dynamodb";
import {
  TEST_SECRET,
  receiverConformance,
  runConformance,
} from "identity-gateway-webhooks/testing";

test("each delivery is handled once, and a forged one never", { timeout: 300_000 }, async () => {
  const database = dynalite({ createTableMs: 0 }).listen(0, "127.0.0.1");
  await once(database, "listening");
  process.env.AWS_ENDPOINT_URL_DYNAMODB = `http://127.0.0.1:${database.address().port}`;
  process.env.AWS_REGION = "eu-central-1";
  process.env.AWS_ACCESS_KEY_ID = process.env.AWS_SECRET_ACCESS_KEY = "local";
  process.env.GATEWAY_WEBHOOK_SECRET = TEST_SECRET;
  await createDynamoTable({ client: new DynamoDB({}) });
  const { handler } = await import("./dist/index.cjs");

  // The handlers print a line that begins with the id: this counts these lines, and makes them fail.
  const runs = new Map();
  let isDown = false;
  console.log = (line) => {
    if (isDown) throw new Error("the work fails");
    const [id] = line.split(": ");
    runs.set(id, (runs.get(id) ?? 0) + 1);
  };
  console.warn = console.error = () => {};
  const cases = receiverConformance({
    secret: TEST_SECRET,
    handled: (id) => runs.get(id) ?? 0,
    whileFailing: (work) => {
      isDown = true;
      return work().finally(() => (isDown = false));
    },
    target: async (request) => {
      const { statusCode, headers, body } = await handler({
        version: "2.0",
        rawPath: "/",
        headers: Object.fromEntries(request.headers),
        requestContext: { http: { method: request.method, path: "/" } },
        body: Buffer.from(await request.arrayBuffer()).toString("base64"),
        isBase64Encoded: true,
      });
      return new Response(statusCode === 204 ? null : body, { status: statusCode, headers });
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
  database.close();
});
