import fc from "fast-check";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { servingTls } from "../support/serving.js";
import {
  answering,
  answerTo,
  failureOf,
  idsOf,
  ledgerReceiver,
  runSuite,
  type Answering,
} from "../support/testing/run-suite.js";

const cases = receiverConformance({ target: answering(200), secret: TEST_SECRET });

it("each conformance case has an id and a title, and says why it matters and how to fix it", () => {
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
  for (const { id, why, fix } of cases) {
    expect(id).toMatch(/^[a-z0-9_]+$/);
    for (const sentence of [why, fix]) expect(sentence).toMatch(/^[A-Z0-9].*[.?`)]$/);
  }
});

it("conformance cases sign for the receiver's clock", async () => {
  const now = () => 1_760_000_000_000;
  const target = ledgerReceiver(createLedger(), { now });
  expect(idsOf(await runSuite({ target, now }), "failed")).toEqual([]);
  expect(idsOf(await runSuite({ target }), "failed")).toEqual(["alarm", "event"]);
});

it("without a probe nothing passes that cannot be seen", async () => {
  const silent: Answering = async (request) => {
    const { status } = await answerTo(request, ours);
    return new Response("", { status });
  };
  const ours = ledgerReceiver();
  const report = await runSuite({ target: silent });
  expect(idsOf(report, "failed")).toEqual([]);
  expect(idsOf(report, "not_judged")).toEqual([
    "duplicate_handled_once",
    "retry_with_new_signature",
    "duplicate_by_id_alone",
    "duplicate_after_others",
    "concurrent_duplicates_handled_once",
    "concurrent_deliveries",
    "same_account",
    "acknowledged_after_handling",
    "failure_sent_again",
    "ten_failures_sent_again",
    "retries_at_once_after_failure",
    "late_handler_counts",
    "late_handler_answered",
    "late_failure_released",
    "hang_up",
    "forged_duplicate",
    "refusal_forgets_nothing",
    "forged_after_failure",
    "split_characters",
    "broken_upload",
    "keep_alive",
    "expect_continue",
    "interleaved_uploads",
    "unlimited_body",
    "stalled_upload",
    "paused_upload",
    "invalid_header_bytes",
    "http_1_0",
    "forged_http_1_0",
    "other_paths",
    "late_effects",
  ]);
  for (const { result, reason } of report.results) {
    if (result === "not_judged")
      expect(reason).toMatch(/option handled|option whileFailing|option whileSlow|a URL/);
  }
});

it("without a probe the outcomes that a receiver names are trusted, and the report says so", async () => {
  const { results } = await runSuite({}, ["duplicate_handled_once", "unreadable_body"]);
  expect(results.map(({ result, reason }) => [result, reason])).toEqual([
    [
      "passed",
      "half of the JSON was acknowledged; to see whether it was also handled, pass the option handled",
    ],
    [
      "passed",
      "judged by the outcome in the receiver's answer; to see it, pass the option handled",
    ],
  ]);
});

it("a receiver whose outcomes say that a duplicate was handled again is caught", async () => {
  const target = answering(200, '{"outcome":"handled"}');
  const failure = await failureOf("concurrent_duplicates_handled_once", { target });
  expect(failure.message).toBe("by its answers the receiver handled the delivery 9 times");
});

it("a receiver that answers the same to everything passes no refusal, whatever it answers", async () => {
  const statuses = fc.integer({ min: 200, max: 599 });
  await fc.assert(
    fc.asyncProperty(statuses, async (status) => {
      const target = answering(status);
      const { results } = await runSuite({ target, maxBodyBytes: 1_000 });
      const refusals = results.filter(
        // An answer without a signature in it is no refusal, and no handler can be made to fail.
        ({ group, id }) =>
          ["forgery", "headers"].includes(group) &&
          !["leaked_signature", "forged_after_failure"].includes(id),
      );
      const isAcknowledged = status < 300;
      for (const { result } of refusals) {
        expect(result).toBe(isAcknowledged ? "failed" : "not_judged");
      }
      const resultOf = (id: string) => results.find((result) => result.id === id)?.result;
      expect(resultOf("alarm")).toBe(isAcknowledged ? "passed" : "failed");
      const isFinal = [400, 401, 403, 404, 422].includes(status);
      // After a 2xx the receiver may have handled the request or dropped it. 429 comes from a limiter.
      const otherwise = isAcknowledged || status === 429 ? "not_judged" : "passed";
      expect(resultOf("wrong_secret_sent_again")).toBe(isFinal ? "failed" : otherwise);
    }),
    { seed: 4, numRuns: 30, examples: [[204], [401], [404], [302], [503]] },
  );
});

it("a receiver that cannot be reached passes no case", async () => {
  const report = await runSuite({ target: "http://127.0.0.1:1/" });
  expect(idsOf(report, "passed")).toEqual([]);
  const alarm = report.results.find(({ id }) => id === "alarm");
  expect(alarm?.reason).toContain("an alarm: expected 2xx, got no answer (");
});

it("a receiver that takes too long fails, and only the first cases wait for it", async () => {
  let requests = 0;
  const target: Answering = () => {
    requests += 1;
    return new Promise(() => undefined);
  };
  const report = await runSuite({ target, timeoutMs: 20 });
  expect(idsOf(report, "failed")).toEqual(["alarm", "event"]);
  expect(idsOf(report, "passed")).toEqual([]);
  expect(requests).toBe(2);
  const [alarm, , other] = report.results;
  expect(alarm?.reason).toBe("an alarm: expected 2xx, got no answer (no answer within 20 ms)");
  expect(other?.reason).toContain("got no answer (no answer within 20 ms): fix that first");
});

/** Answers a request itself, or leaves it to a receiver of this library. */
type Front = (request: Request) => Response | undefined | Promise<Response>;

function behind(front: Front): Answering {
  const receiver = ledgerReceiver();
  return async (request) => {
    const own = await front(request);
    if (own !== undefined) return own;
    const { body, status } = await answerTo(request, receiver);
    return new Response(body, { status });
  };
}

const closesConnection = () => Promise.reject(new Error("closed"));
const answers = (status: number) => new Response("", { status });
const isUnsigned = ({ headers }: Request) => !headers.has("x-webhook-signature");

const CLOSED = "no answer (the request failed: closed)";
it.each([
  ["no_server_errors", `no signature: expected an answer, got ${CLOSED}`],
  ["no_echo", `a delivery without a signature: expected an answer, got ${CLOSED}`],
])("a receiver that closes unsigned connections fails the case %s: %s", async (id, message) => {
  const target = behind((request) => (isUnsigned(request) ? closesConnection() : undefined));
  expect((await failureOf(id, { target })).message).toContain(message);
});

it("a receiver that refuses genuine deliveries and closes the connection for others fails", async () => {
  const target = behind((request) => (isUnsigned(request) ? closesConnection() : answers(500)));
  const { message } = await failureOf("unsigned_sent_again", { target });
  expect(message).toContain("no signature: expected an answer, got no answer (");
});

it("a receiver that answers 404 to GET passes with a note, since the gateway may look whether the URL is reachable", async () => {
  const reasonOf = async (front: Front): Promise<string | undefined> => {
    const { results } = await runSuite({ target: behind(front) }, ["other_methods"]);
    expect(results).toMatchObject([{ id: "other_methods", result: "passed" }]);
    return results[0]?.reason;
  };
  const note = await reasonOf(({ method }) => (method === "GET" ? answers(404) : undefined));
  expect(note).toMatch(/^GET was answered 404\. .* mount by app\.all/);
  expect(await reasonOf(() => undefined)).toBeUndefined();
});

it("a receiver that gets only events, over TLS and by host name, is judged", async () => {
  const ledger = createLedger();
  const handle = nodeHandler(ledgerReceiver(ledger));
  const target = (await servingTls(handle)).replace("127.0.0.1", "localhost");
  const ids = ["split_characters", "invalid_header_bytes"];
  const options = { types: ["delete_my_data_event"], skipTlsVerification: true } as const;
  const report = await runSuite({ target, handled: ledger.handled, ...options }, ids);
  expect(idsOf(report, "passed")).toEqual(ids);
});

it("an error of the option now ends the case with that error", async () => {
  const now = () => {
    throw new RangeError("no clock");
  };
  await expect(runSuite({ now }, ["alarm"])).rejects.toThrow(new RangeError("no clock"));
});
