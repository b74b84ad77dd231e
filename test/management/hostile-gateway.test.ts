import fc from "fast-check";
import { expect, test } from "vitest";
import {
  attemptReader,
  checkWebhooks,
  ManagementError,
  reconcileDeliveries,
} from "../../src/management/index.js";
import { scriptedClient, webhookRecord } from "../support/management/scripted-gateway.js";

const readAttempt = attemptReader({ deliveryId: "id", status: "status", at: "at", body: "body" });

/** JSON that resembles what the gateway sends, and any other JSON. */
const json = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      data: fc.jsonValue(),
      error: fc.jsonValue(),
      errors: fc.jsonValue(),
      message: fc.jsonValue(),
    },
    { requiredKeys: [] },
  ),
  fc.array(
    fc.record({
      id: fc.jsonValue(),
      url: fc.jsonValue(),
      type: fc.jsonValue(),
      at: fc.jsonValue(),
    }),
  ),
  fc.constantFrom(JSON.parse('{"__proto__":{"data":[]},"constructor":1}') as unknown),
);

test("whatever the gateway answers, a call resolves or rejects with a ManagementError", async () => {
  const property = fc.asyncProperty(
    json,
    fc.constantFrom(200, 201, 204, 302, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503),
    async (body, status) => {
      const answer = status === 204 ? { status } : { status, json: body };
      const { client } = scriptedClient([answer], { maxRetries: 0 });
      const { webhooks, attempts } = client;
      const fetch = () => Promise.resolve(new Response("{}", { status: 409 }));
      const calls = [
        webhooks.list(),
        webhooks.get(1),
        webhooks.update(1, { title: "a" }),
        webhooks.delete(1),
        attempts.list(1),
        attempts.get(1, 1),
        checkWebhooks(client, { url: "https://partner.example/", fetch }),
      ];
      for (const ended of await Promise.allSettled<unknown>(calls)) {
        if (ended.status === "rejected") expect(ended.reason).toBeInstanceOf(ManagementError);
      }
    },
  );
  await fc.assert(property, { numRuns: 300 });
});

test("whatever a stored attempt holds, it is read or counted as unreadable", async () => {
  const property = fc.asyncProperty(fc.array(json), async (records) => {
    const { client } = scriptedClient([{ json: [webhookRecord()] }, { json: records }]);
    const report = await reconcileDeliveries(client, { since: new Date(0), readAttempt });
    expect(report.attempts).toBe(records.length);
    expect(report.unreadable).toBeLessThanOrEqual(records.length);
  });
  await fc.assert(property, { numRuns: 300 });
});
