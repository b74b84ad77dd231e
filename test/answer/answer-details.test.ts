import { describe, expect, test } from "vitest";
import {
  RetryLater,
  createWebhookReceiver,
  memoryStore,
  type ClaimResult,
  type OutcomeReport,
} from "../../src/index.js";
import { NOW_MS, TEST_SECRET, delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

describe("Retry-After", () => {
  const CASES: [number | undefined, string][] = [
    [undefined, "60"],
    [1_000, "1"],
    [1_001, "2"],
    [1_500, "2"],
    [90_000, "90"],
    [0.25, "1"],
    [0, "1"],
    [-5_000, "1"],
    [86_400_000, "86400"],
    [86_400_001, "86400"],
    [Number.MAX_VALUE, "86400"],
    [Number.NaN, "60"],
    [Number.POSITIVE_INFINITY, "60"],
    [Number.NEGATIVE_INFINITY, "60"],
  ];

  test.each(CASES)("Retry-After of RetryLater({ afterMs: %s }) is %s", async (afterMs, seconds) => {
    const { receive } = recordingReceiver({
      handlers: {
        new_alarm: () => {
          throw new RetryLater({ afterMs });
        },
      },
    });
    const { headers, status } = await receive(await delivery());
    expect({ status, retryAfter: headers["retry-after"] }).toEqual({
      status: 503,
      retryAfter: seconds,
    });
  });

  test.each([
    [12_345, "13"],
    [1, "1"],
    [0, "1"],
    [-1, "1"],
    [Number.NaN, "10"],
    [Number.POSITIVE_INFINITY, "10"],
    [1e15, "86400"],
    [undefined, "10"],
  ])(
    "Retry-After is based on the store's retryAfterMs: %s gives %s",
    async (retryAfterMs, seconds) => {
      const claim = () => ({ state: "in_flight", retryAfterMs }) as ClaimResult;
      const { receive } = recordingReceiver({
        store: { ...memoryStore({ maxEntries: 1 }), claim },
      });
      const { headers, status } = await receive(await delivery());
      expect({ status, retryAfter: headers["retry-after"] }).toEqual({
        status: 409,
        retryAfter: seconds,
      });
    },
  );

  test("Retry-After of one answer does not affect the next", async () => {
    let afterMs: number | undefined = 7_000;
    const { receive } = recordingReceiver({
      handlers: {
        new_alarm: () => {
          throw new RetryLater({ afterMs });
        },
      },
    });
    expect((await receive(await delivery())).headers["retry-after"]).toBe("7");
    afterMs = undefined;
    expect((await receive(await delivery())).headers["retry-after"]).toBe("60");
  });
});

describe("the method", () => {
  test.each(["PUT", "PATCH", "DELETE", "", "POST ", "POSTS", "GETS"])(
    "the method %j is answered 405 and runs nothing",
    async (method) => {
      const { receive, handled } = recordingReceiver();
      const answer = await receive({ ...(await delivery()), method });
      expect(answer).toMatchObject({ status: 405, headers: { allow: "GET, HEAD, OPTIONS, POST" } });
      expect(handled).toEqual([]);
    },
  );

  test.each(["GET", "HEAD", "get", "head"])(
    "the method %j is a probe and runs nothing",
    async (method) => {
      const reports: OutcomeReport[] = [];
      const onOutcome = (report: OutcomeReport) => reports.push(report);
      const { receive, handled } = recordingReceiver({ onOutcome });
      const answer = await receive({
        headers: { "x-webhook-type": "new_alarm" },
        body: "",
        method,
      });
      expect(answer).toEqual({
        status: 200,
        headers: { "cache-control": "no-store" },
        body: "",
        outcome: "reachable",
      });
      expect(reports).toMatchObject([{ outcome: "reachable", status: 200, bytes: 0 }]);
      expect(handled).toEqual([]);
    },
  );

  test("OPTIONS is a probe that is answered with the methods, and runs nothing", async () => {
    const reports: OutcomeReport[] = [];
    const onOutcome = (report: OutcomeReport) => reports.push(report);
    const { receive, handled } = recordingReceiver({ onOutcome });
    expect(await receive({ method: "options", headers: {}, body: "" })).toEqual({
      status: 204,
      headers: { "cache-control": "no-store", allow: "GET, HEAD, OPTIONS, POST" },
      body: "",
      outcome: "reachable",
    });
    expect(reports).toMatchObject([{ outcome: "reachable", status: 204, bytes: 0 }]);
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
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: { new_alarm: () => undefined },
      logger: false,
    });
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

test("the report of a refused request contains no id, type or timestamp of the request", async () => {
  const { receive, reports } = recordingReceiver();
  const request = await delivery({ secret: "whsec_another" });
  await receive(request);
  await receive({ ...request, headers: { ...request.headers, "x-webhook-signature": undefined } });
  await receive({ ...request, headers: { ...request.headers, "x-webhook-id": "a b" } });
  expect(reports.map(({ outcome }) => outcome)).toEqual([
    "signature_mismatch",
    "unsigned",
    "malformed",
  ]);
  for (const report of reports) {
    expect(Object.keys(report).sort()).toEqual(["bytes", "durationMs", "outcome", "status"]);
  }
});

test("id, type and secretIndex are reported as soon as the signature is verified", async () => {
  const { receive, reports } = recordingReceiver();
  await receive(await delivery({ id: "d-1", timestamp: 0 }));
  await receive(await delivery({ id: "d-2", type: "added_later" }));
  expect(reports).toMatchObject([
    { outcome: "stale", id: "d-1", type: "new_alarm", secretIndex: 0 },
    { outcome: "type_mismatch", id: "d-2", type: "added_later", secretIndex: 0 },
  ]);
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
  const { receive, handled } = recordingReceiver({ now: () => NOW_MS });
  const { status } = await receive(request as Parameters<typeof receive>[0]);
  expect(expected === undefined ? [409, 500] : [expected]).toContain(status);
  expect(handled).toEqual([]);
});
