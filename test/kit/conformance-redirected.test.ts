import { expect, test } from "vitest";
import { createLedger } from "../support/ledger.js";
import {
  answerTo,
  failureOf,
  ledgerReceiver,
  runSuite,
  type Answering,
} from "../support/testing/run-suite.js";

/** A receiver of this library that answers each GET itself, as its versions did before. */
function answeringGet(status: number, isForeign = false): Answering {
  const receiver = ledgerReceiver(createLedger());
  return async (request) => {
    if (request.method === "GET") return new Response("", { status });
    const answer = await answerTo(request, receiver);
    return new Response(isForeign ? "" : answer.body, { status: answer.status });
  };
}

test("a receiver of this library that acknowledges a redirected delivery fails a must", async () => {
  const target = answeringGet(200);
  const failure = await failureOf("redirected_delivery", { target });
  expect(failure).toMatchObject({ failureCode: "acknowledged", level: "must" });
  const { failedMust, results } = await runSuite({ target }, ["redirected_delivery"]);
  expect(failedMust).toBe(1);
  expect(results).toMatchObject([{ level: "must", result: "failed" }]);
});

test("another receiver that acknowledges a redirected delivery fails a should", async () => {
  const target = answeringGet(200, true);
  const { failedMust, results } = await runSuite({ target }, ["redirected_delivery"]);
  expect(failedMust).toBe(0);
  expect(results).toMatchObject([{ level: "should", result: "failed", code: "acknowledged" }]);
});

test("a receiver that answers 404 to a redirected delivery passes with a note: the gateway gives it up", async () => {
  const { results } = await runSuite({ target: answeringGet(404, true) }, ["redirected_delivery"]);
  expect(results).toMatchObject([
    {
      result: "passed",
      reason:
        "GET with the headers of a delivery was answered 404, after which the gateway gives up for good",
    },
  ]);
});

test("a receiver of this library refuses a redirected delivery", async () => {
  const target = ledgerReceiver(createLedger());
  const { results } = await runSuite({ target }, ["redirected_delivery", "other_methods"]);
  expect(results).toMatchObject([{ result: "passed" }, { result: "passed" }]);
});
