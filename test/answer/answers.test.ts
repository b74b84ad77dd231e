import { describe, expect, test } from "vitest";
import type { UnverifiableOption, WebhookOutcome } from "../../src/index.js";
import { OUTCOMES, resultOfStatus } from "../../src/answer/outcome.js";
import { SCENES, collect } from "../support/outcome-scenes.js";

/** The design's table of answers: outcome, status, status with `unverifiable: "reject"`, Retry-After. */
const TABLE: [WebhookOutcome, number, number, string?][] = [
  ["handled", 200, 200],
  ["duplicate", 200, 200],
  ["discarded", 200, 200],
  ["unhandled", 200, 200],
  ["in_flight", 409, 409, "30"],
  ["reachable", 200, 200],
  ["method_not_allowed", 405, 405],
  ["malformed", 409, 400],
  ["unsigned", 409, 401],
  ["signature_mismatch", 409, 401],
  ["stale", 409, 401],
  ["type_mismatch", 409, 400],
  ["body_too_large", 409, 413],
  ["body_timeout", 408, 408],
  ["body_consumed", 503, 503],
  ["unrecognized", 503, 503],
  ["handler_failed", 500, 500],
  ["handler_timeout", 503, 503, "30"],
  ["retry_later", 503, 503, "60"],
  ["overloaded", 503, 503, "37"],
  ["store_unavailable", 503, 503],
  ["secret_unavailable", 503, 503],
  ["draining", 503, 503, "10"],
  ["internal_error", 500, 500],
];

type Unverifiable = "retry" | "reject";

/** The answer of the scene that causes an outcome. */
async function answerOf(outcome: WebhookOutcome, unverifiable: UnverifiableOption) {
  const { options, ...scene } = SCENES[outcome];
  return (await collect({ ...scene, options: { ...options, unverifiable } })).response;
}

test("the table and the scenarios contain every outcome once", () => {
  expect(TABLE.map(([outcome]) => outcome).sort()).toEqual(Object.keys(SCENES).sort());
});

/** The outcomes that can be made final. */
const REJECTABLE = TABLE.filter(([, status, rejectStatus]) => status !== rejectStatus);

test.each(REJECTABLE)(
  "unverifiable: { %s: reject } makes that outcome final, and no other",
  async (chosen) => {
    for (const [outcome, status, rejectStatus] of REJECTABLE) {
      const { status: answered } = await answerOf(outcome, { [chosen]: "reject" });
      expect([outcome, answered]).toEqual([outcome, outcome === chosen ? rejectStatus : status]);
    }
  },
);

describe.each<Unverifiable>(["retry", "reject"])("with unverifiable: %j", (unverifiable) => {
  test.each(TABLE)(
    `%s has its documented answer with unverifiable: ${unverifiable}`,
    async (outcome, status, rejectStatus, retryAfter) => {
      const answer = await answerOf(outcome, unverifiable);
      const expectedStatus = unverifiable === "reject" ? rejectStatus : status;
      expect({ outcome: answer.outcome, status: answer.status }).toEqual({
        outcome,
        status: expectedStatus,
      });
      expect(answer.headers).toEqual({
        "cache-control": "no-store",
        ...(outcome !== "reachable" && { "content-type": "application/json" }),
        ...(outcome === "method_not_allowed" && { allow: "GET, HEAD, OPTIONS, POST" }),
        ...(retryAfter !== undefined && { "retry-after": retryAfter }),
      });
      expect(answer.body === "" ? { outcome: "reachable" } : JSON.parse(answer.body)).toEqual(
        expectedStatus === 200
          ? { outcome }
          : { error: { code: outcome.toUpperCase(), message: OUTCOMES[outcome].message } },
      );
    },
  );
});

test("no outcome has a status that stops the gateway's retries by default", () => {
  const FINAL = [400, 401, 403, 404, 422];
  expect(TABLE.filter(([, status]) => FINAL.includes(status))).toEqual([]);
});

test.each([
  [199, "unlisted"],
  [200, "acknowledged"],
  [299, "acknowledged"],
  [300, "unlisted"],
  [409, "retryable"],
  [422, "final"],
  [418, "unlisted"],
])("to the gateway the status %i is %s", (status, result) => {
  expect(resultOfStatus(status)).toBe(result);
});
