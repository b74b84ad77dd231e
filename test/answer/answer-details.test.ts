import { describe, expect, test } from "vitest";
import { memoryStore, type ClaimResult } from "../../src/index.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

async function retryAfterOf(options: Parameters<typeof recordingReceiver>[0]) {
  const { receive } = recordingReceiver(options);
  const { headers, status } = await receive(await delivery());
  return `${String(status)} ${String(headers["retry-after"])}`;
}

test.each([
  [12_345, "13"],
  [0, "1"],
  [-1, "1"],
  [Number.NaN, "10"],
  [1e15, "86400"],
  [undefined, "10"],
])(
  "Retry-After is based on the store's retryAfterMs: %s gives %s",
  async (retryAfterMs, seconds) => {
    const claim = () => ({ state: "in_flight", retryAfterMs }) as ClaimResult;
    const store = { ...memoryStore({ maxEntries: 1 }), claim };
    expect(await retryAfterOf({ store })).toBe(`409 ${seconds}`);
  },
);

describe("the method", () => {
  test.each(["PUT", "DELETE", "", "POST ", "GETS"])(
    "the method %j is answered 405 and runs nothing",
    async (method) => {
      const { receive, handled } = recordingReceiver();
      const answer = await receive({ ...(await delivery()), method });
      expect(answer).toMatchObject({ status: 405, headers: { allow: "GET, HEAD, OPTIONS, POST" } });
      expect(handled).toEqual([]);
    },
  );

  test.each([
    ["GET", 200, {}],
    ["head", 200, {}],
    ["options", 204, { allow: "GET, HEAD, OPTIONS, POST" }],
  ])("the method %j is a probe, is answered %i and runs nothing", async (method, status, more) => {
    const { receive, handled, reports } = recordingReceiver();
    const headers = { "x-webhook-type": "new_alarm" };
    expect(await receive({ headers, body: "", method })).toEqual({
      status,
      headers: { "cache-control": "no-store", ...more },
      body: "",
      outcome: "reachable",
    });
    expect(reports).toMatchObject([{ outcome: "reachable", status, bytes: 0 }]);
    expect(handled).toEqual([]);
  });

  test.each(["POST", "post", undefined])("the method %j is accepted", async (method) => {
    const { receive, handled } = recordingReceiver();
    expect((await receive({ ...(await delivery()), method })).outcome).toBe("handled");
    expect(handled).toHaveLength(1);
  });
});

describe("the order of the checks", () => {
  const forged = () => delivery({ secret: "whsec_another", timestamp: 0, type: "added_later" });

  test("the method is checked before draining, and draining before the rest of the request", async () => {
    const { receiver } = recordingReceiver();
    await receiver.drain();
    const outcomeOf = async (change: object) =>
      (await receiver.receive({ ...(await forged()), ...change })).outcome;
    expect(await outcomeOf({ method: "PUT" })).toBe("method_not_allowed");
    expect(await outcomeOf({ headers: {} })).toBe("draining");
    expect(await outcomeOf({ body: {} })).toBe("draining");
    expect(await outcomeOf({})).toBe("draining");
  });

  test("the size is checked before the headers, the headers before the signature, and that before the age", async () => {
    const { receive } = recordingReceiver({ maxBodyBytes: 1_000 });
    const outcomeOf = async (change: object) =>
      (await receive({ ...(await forged()), ...change })).outcome;
    expect(await outcomeOf({ headers: {}, body: "x".repeat(1_001) })).toBe("body_too_large");
    expect(await outcomeOf({ headers: {} })).toBe("malformed");
    expect(await outcomeOf({})).toBe("signature_mismatch");
    const stale = await delivery({ timestamp: 0, type: "added_later", body: "not json" });
    expect((await receive(stale)).outcome).toBe("stale");
  });

  test("the secret is checked before the signature: without a secret no request counts as forged", async () => {
    const { receive } = recordingReceiver({ secret: () => "" });
    expect((await receive(await forged())).outcome).toBe("secret_unavailable");
  });
});

test.each<[string, unknown, number?]>([
  ["undefined", undefined],
  ["null", null],
  ["a number", 5],
  ["an empty object", {}],
  ["an object whose method is no text", { method: 5, headers: {}, body: "" }, 405],
  [
    "an object whose headers throw",
    {
      headers: { get: throwing(new Error("no headers")) },
      body: "",
    },
  ],
])("receive does not reject for a request that is %s", async (_, request, expected) => {
  const { receive, handled } = recordingReceiver();
  const { status } = await receive(request as Parameters<typeof receive>[0]);
  expect(expected === undefined ? [409, 500] : [expected]).toContain(status);
  expect(handled).toEqual([]);
});
