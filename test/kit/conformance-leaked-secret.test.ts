import { describe, expect, it } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { overriding, type MakeReceiver } from "../flawed/flaw.js";
import { judge } from "../flawed/judge.js";
import { createLedger } from "../support/ledger.js";
import { answerTo, idsOf, ledgerReceiver, type Answering } from "../support/testing/run-suite.js";

const judgeWith = (make: MakeReceiver, only: readonly string[], secret = TEST_SECRET) =>
  judge((ledger) => make(ledger).createServer(), { secret }, only);

describe("the case leaked_secret", () => {
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
    // A run of this case alone makes no handler fail.
    expect(idsOf(await judgeWith(showing, ["leaked_secret"]), "passed")).toHaveLength(1);
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
    ["as it is", (secret) => secret],
    ["in hexadecimal", (secret) => Buffer.from(secret).toString("hex")],
    ["in base64", (secret) => Buffer.from(secret).toString("base64")],
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
    const receiver = ledgerReceiver(createLedger());
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
});
