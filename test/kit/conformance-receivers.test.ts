import { expect, it } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { overriding, type MakeReceiver } from "../flawed/flaw.js";
import { judge } from "../flawed/judge.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import {
  answerTo,
  failureOf,
  idsOf,
  ledgerReceiver,
  runSuite,
  type Answering,
} from "../support/testing/run-suite.js";

/** A receiver that recognises duplicates by the body, and names its outcomes. */
function rememberingBodies(): Answering {
  const seen = new Set<string>();
  const receiver = ledgerReceiver();
  return async (request) => {
    const body = await request.clone().text();
    const { status } = await answerTo(request, receiver);
    const outcome = seen.has(body) ? "duplicate" : "handled";
    if (status === 200) seen.add(body);
    return new Response(JSON.stringify(status === 200 ? { outcome } : {}), { status });
  };
}

it("a receiver that recognises duplicates by the body is caught by the outcomes that it names", async () => {
  const failure = await failureOf("duplicate_by_id_alone", { target: rememberingBodies() });
  expect(failure.message).toContain("the same body under another id: answered 200, ");
  expect(failure.message).toContain("as a duplicate of the first delivery");
});

/** A receiver of this library that answers each GET itself, as its versions did before. */
function answeringGet(status: number, isForeign = false): Answering {
  const receiver = ledgerReceiver();
  return async (request) => {
    if (request.method === "GET") return new Response("", { status });
    const answer = await answerTo(request, receiver);
    return new Response(isForeign ? "" : answer.body, { status: answer.status });
  };
}

it.each([
  ["a receiver of this library", "must", 1, false],
  ["another receiver", "should", 0, true],
])(
  "%s that acknowledges a redirected delivery fails a %s",
  async (_what, level, failedMust, isForeign) => {
    const target = answeringGet(200, isForeign);
    const report = await runSuite({ target }, ["redirected_delivery"]);
    const results = [{ level, result: "failed", code: "acknowledged" }];
    expect(report).toMatchObject({ failedMust, results });
  },
);

it("a receiver that answers 404 to a redirected delivery passes with a note: the gateway gives it up", async () => {
  const { results } = await runSuite({ target: answeringGet(404, true) }, ["redirected_delivery"]);
  expect(results).toMatchObject([
    {
      result: "passed",
      reason:
        "GET with the headers of a delivery was answered 404, after which the gateway gives up for good",
    },
  ]);
});

/** A receiver of this library behind a limiter that answers in place of its refusals. */
function refusing(refuse: (request: Request) => number): Answering {
  const receiver = ledgerReceiver();
  return async (request) => {
    const answer = await answerTo(request, receiver);
    if (answer.status === 200) return new Response(answer.body);
    return new Response("", { status: refuse(request) });
  };
}

const ids = [
  "wrong_secret_sent_again",
  "unknown_webhook_type",
  "tampered",
  "big_forgery",
  "malformed_headers",
  "other_methods",
];

it("what a limiter hides that answers everything is not judged", async () => {
  const ours = ledgerReceiver();
  let requests = 0;
  const target: Answering = async (request) => {
    requests += 1;
    // Only the first genuine delivery gets past it.
    if (requests > 1) return new Response("", { status: 429, headers: { "retry-after": "0" } });
    const { body, status } = await answerTo(request, ours);
    return new Response(body, { status });
  };
  const report = await runSuite({ target }, ["tampered", ...ids]);
  expect(idsOf(report, "failed")).toEqual([]);
  const tampered = report.results.find(({ id }) => id === "tampered");
  expect([tampered?.result, tampered?.reason]).toEqual([
    "not_judged",
    "another account_id: a rate limiter answered 429: lift its limit for this run",
  ]);
});

it("a receiver that refuses with 429 by choice and acknowledges each genuine delivery passes", async () => {
  const report = await runSuite({ target: refusing(() => 429) }, ids);
  expect([idsOf(report, "failed"), idsOf(report, "not_judged")]).toEqual([[], []]);
  // The same request again and again, each time after a genuine delivery, and once only in a case.
  const malformed = report.results.find(({ id }) => id === "malformed_headers");
  expect(malformed?.exchanges).toHaveLength(24 + 6);
});

it("what a limiter hides now and then is seen by sending again", async () => {
  let refusals = 0;
  const target = refusing(() => (refusals++ % 2 === 0 ? 429 : 401));
  const failure = await failureOf("wrong_secret_sent_again", { target });
  expect(failure.message).toContain("another secret: expected a retryable status, got 401");
  expect(idsOf(await runSuite({ target }, ["tampered"]), "passed")).toEqual(["tampered"]);
});

it("a forgery that was handled behind a 429 fails", async () => {
  const ledger = createLedger();
  const target = refusing(({ headers }) => {
    void ledger.record({ id: headers.get("x-webhook-id") ?? "" });
    return 429;
  });
  const failure = await failureOf("tampered", { target, handled: ledger.handled });
  expect(failure.message).toMatch(/answered 429, .*, but handled 4 times$/);
});

const judgeWith = (make: MakeReceiver, only: readonly string[], secret = TEST_SECRET) =>
  judge((ledger) => make(ledger).createServer(), { secret }, only);

it("the secret on the page of a failed handler is seen in the answers to another case", async () => {
  const secret = Buffer.from(TEST_SECRET).toString("hex").toUpperCase();
  const showing = overriding({ failed: () => [500, `<pre>${secret}</pre>`] });
  const report = await judgeWith(showing, ["failure_sent_again", "leaked_secret"]);
  expect(idsOf(report, "failed")).toEqual(["leaked_secret"]);
  expect(report.failedMust).toBe(1);
  const { reason, exchanges } = report.results[1] ?? {};
  expect(reason).toBe("the answer to a POST of the case failure_sent_again contains the secret");
  expect(exchanges?.at(-1)?.received).toMatchObject({
    status: 500,
    body: "<pre>[secret]</pre>",
  });
  // It comes after the others also when several run at the same time.
  const cases = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET });
  expect(cases.find(({ id }) => id === "leaked_secret")?.runsAlone).toBe(true);
  // A run of this case alone makes a handler fail too.
  expect(idsOf(await judgeWith(showing, ["leaked_secret"]), "failed")).toHaveLength(1);
});

it("the secret in an answer to HTTP/1.0 is seen", async () => {
  const showing = overriding((right) => ({
    receive: (req, body) =>
      req.httpVersion === "1.1"
        ? right.receive(req, body)
        : [426, "upgrade", { "x-settings": TEST_SECRET }],
  }));
  const report = await judgeWith(showing, ["forged_http_1_0", "leaked_secret"]);
  expect(idsOf(report, "failed")).toEqual(["leaked_secret"]);
  const [{ exchanges } = {}] = report.results;
  const [{ received } = {}] = exchanges ?? [];
  expect(received).toMatchObject({ status: 426, body: "upgrade" });
  expect(received).toHaveProperty(["headers", "x-settings"], "[secret]");
});

it.each<[string, (secret: string) => string]>([
  ["in base64 for URLs", (secret) => Buffer.from(secret).toString("base64url")],
  ["in JSON", (secret) => JSON.stringify({ secret })],
  [
    "in JSON that escapes slashes",
    (secret) => JSON.stringify({ secret }).replaceAll("/", String.raw`\/`),
  ],
  [
    "in base64 within JSON that escapes slashes",
    (secret) =>
      Buffer.from(secret)
        .toString("base64")
        .replaceAll("/", String.raw`\/`),
  ],
])("an answer with the secret %s fails and is not shown", async (_, write) => {
  // With characters that patterns and JSON escape, and whose base64 has a slash and a plus sign.
  const secret = String.raw`w>s?"c_/+.*(\${"~~~???>>>"}`;
  expect(Buffer.from(secret).toString("base64")).toMatch(/\/.*\+|\+.*\//);
  const showing = overriding({
    secrets: () => [secret],
    duplicate: () => [200, `settings: ${write(secret)}`],
  });
  const report = await judgeWith(showing, ["leaked_secret"], secret);
  const [{ result, reason, exchanges } = {}] = report.results;
  expect([result, reason]).toEqual([
    "failed",
    "the answer to a POST of the case leaked_secret contains the secret",
  ]);
  const shown = JSON.stringify(exchanges?.at(-1)?.received);
  expect(shown).toContain("settings: ");
  expect(shown).toContain("[secret]");
});

it("a leak that was reported is not reported again when the receiver is repaired", async () => {
  const receiver = ledgerReceiver();
  let text = `settings: ${TEST_SECRET}`;
  const target: Answering = async (request) => {
    const { status } = await answerTo(request, receiver);
    return new Response(request.method === "HEAD" ? null : text, { status });
  };
  const cases = receiverConformance({ target, secret: TEST_SECRET });
  const leaked = cases.filter(({ id }) => id === "leaked_secret");
  expect(idsOf(await runConformance(leaked), "failed")).toEqual(["leaked_secret"]);
  text = "repaired";
  expect(idsOf(await runConformance(leaked), "passed")).toEqual(["leaked_secret"]);
});

it("a secret of a few letters is not judged: an answer may contain it anyway", async () => {
  const secret = "handled";
  const short = overriding({ secrets: () => [secret] });
  const report = await judgeWith(short, ["leaked_secret"], secret);
  expect(idsOf(report, "not_judged")).toEqual(["leaked_secret"]);
  expect(report.results[0]?.reason).toContain("16 characters or more");
});
