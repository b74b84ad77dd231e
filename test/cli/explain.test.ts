import { describe, expect, test } from "vitest";
import { OUTCOME_CAUSES } from "../../src/answer/outcome-causes.js";
import { expectEnd, oneLine, runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtureNamed } from "../support/fixtures.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const NOW = ["--now", "2026-07-08T10:00:06Z"];
const { headers, body } = fixtureNamed("alarm-email-hacked");
const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
const head = lines.join("\r\n");
const text = Buffer.from(body).toString();
const capture = (content: string) => `POST /webhooks/gateway HTTP/1.1\r\n${head}\r\n\r\n${content}`;

/** What explain says of a capture, at the time of its recording. */
function explain(content: string, ...argv: readonly string[]) {
  return runCommand(["explain", ...argv, ...NOW], { stdin: capture(content) });
}

test("explain passes a fixture at the time of its recording", async () => {
  const { stdout } = await expectEnd("explain fixtures/alarm-email-hacked.json", { code: 0 });
  expect(stdout).toBe(`✓ The signature is good, and the delivery fresh.
    A receiver with a handler for it answers 200 handled.
    One whose handlers do not name it answers 200 unhandled: No handler is given for this type of
    delivery.
`);
});

test.each([
  ["hostile/invalid-utf-8", "503 unrecognized", ["body_unrecognized (seen", "JSON in UTF-8"]],
  ["hostile/flipped-type-header", "409 type_mismatch", ["type_mismatch (seen"]],
])("explain says what a receiver answers to the authentic %s", async (name, answer, texts) => {
  const stdout = [`✗ The signature is right, but a receiver answers ${answer}.\n`, ...texts];
  await expectEnd(`explain fixtures/${name}.json`, { code: 1, stdout });
});

test.each([
  [["--now", "2026-07-08T10:00:06Z"], 0],
  [["--now", "1783504806"], 0],
  [["--now", "2026-07-08 10:00:06"], 0],
  [["--now", "2026-07-08T10:30:06Z"], 1],
  [[], 1],
])("the time of capture is given by %j", async (argv, code) => {
  const expected = { code, stdout: code === 1 ? "timestamp_behind" : "✓" };
  await expectEnd(["explain", ...argv], expected, { stdin: capture(text) });
});

test("explain takes headers and body from two files, also those of a curl command", async () => {
  const curl = `curl https://a.example/hook -H '${lines.join("' -H '")}'`;
  const command = ["explain", folder.write("curl.txt", curl)];
  const plain = ["explain", folder.write("head.txt", head)];
  const whole = folder.write("body.json", text);
  const spaced = folder.write("spaced.json", JSON.stringify(JSON.parse(text), null, 2));
  await expectEnd([...plain, "--body", whole, ...NOW], { code: 0 });
  await expectEnd([...command, "--body", whole, ...NOW], { code: 0 });
  const reserialised = { code: 1, stdout: "body_reserialised" };
  await expectEnd([...plain, "--body", spaced, ...NOW], reserialised);
});

describe("explain finds", () => {
  test.each<[string, string, readonly string[], RegExp]>([
    ["a newline after the body", `${text}\n`, [], /✗ .*\n\n {2}body_trailing_newline \(proven/],
    ["a body that is too long", text, ["--max-body-bytes", String(body.length - 1)], /at most \d+/],
    ["a newline that was read with the secret", text, ["--secret", `${TEST_SECRET}\n`], /secret_/],
    [
      "another webhook's secret",
      text,
      ["--secret", "wrong", "--other-secret", TEST_SECRET],
      /proven/,
    ],
  ])("%s", async (_what, content, argv, stdout) => {
    await expectEnd(explain(content, ...argv), { code: 1, stdout, never: TEST_SECRET });
  });

  test("nothing in a body of --max-body-bytes, and names the secret that matches", async () => {
    await expectEnd(explain(text, "--max-body-bytes", String(body.length)), { code: 0 });
    const secrets = ["--secret", "whsec_other_0123456789abcdef", "--secret", TEST_SECRET];
    await expectEnd(explain(text, ...secrets), { code: 0, stdout: "It is secret 2 of 2." });
  });

  test("the usual causes when it finds none, as the log does", async () => {
    const unexplained = { code: 1, stdout: "unexplained" };
    const { stdout } = await expectEnd(explain('{"alarm":{"id":2}}'), unexplained);
    const [, list = ""] = stdout.split("Usual causes:\n");
    for (const cause of OUTCOME_CAUSES.signature_mismatch.causes) {
      expect(oneLine(list)).toContain(`- ${cause}`);
    }
  });
});

test.each([[[]], [["--json"]]])(
  "explain shows no part of the secret, the signature or the body: %j",
  async (argv) => {
    const signature = String(headers["X-Webhook-Signature"]).slice(3);
    const never = [TEST_SECRET, signature, "bertil", "exempel", "4242"];
    await expectEnd(explain(text.replace("astrid", "bertil"), ...argv), { code: 1, never });
  },
);

test.each([
  ["explain /there/is/none", "", "no such file"],
  ["explain --body -", "", "standard input cannot be both"],
  ["explain --now yesterday", capture(text), "--now must be"],
  ["explain", "", "the capture is empty"],
  ["explain 418", "", "no such file"],
  ["explain ./stale", "", /no such file\n/],
  ["explain signature_mismach", "", ["no such file", "did you mean signature_mismatch?"]],
  ["explain clean-upp", "", "did you mean clean-up?"],
])("%j is wrong usage", async (argv, stdin, stderr) => {
  await expectEnd(argv, { code: 2, stdout: "", stderr }, { stdin });
});

test("explain says how to pass a secret; at a terminal it says that it reads standard input", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };
  await expectEnd("explain", { stderr: "no secret: set GATEWAY_" }, { env });
  const world = { stdin: capture(text), isTTY: true };
  await expectEnd(["explain", ...NOW], { stderr: "Ctrl-D" }, world);
});

describe("a page", () => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };

  test.each([
    ["stale", ["stale (outcome)", "outside the tolerance", "Answered 409"]],
    ["SIGNATURE_MISMATCH", ["signature_mismatch (outcome)", "explain request.txt"]],
    ["redis_unavailable", ["redis_unavailable (error code)", "GatewayWebhookError"]],
    ["ConfigurationError", ["unknown_option (error code)", "missing_secret (error code)"]],
    ["retry_later", ["retry_later (outcome)", "retry_later (error code)"]],
  ])("of %s has what the documents say, and needs no secret", async (name, stdout) => {
    await expectEnd(`explain ${name}`, { code: 0, stdout, stderr: "" }, { env });
  });

  test("of a status lists the outcomes that answer it", async () => {
    const stdout = [
      /^A receiver of this library answers 409 to:\n/,
      /\n {2}in_flight +The delivery is being handled right now\.\n/,
      /\n {2}signature_mismatch +No configured secret/,
    ];
    await expectEnd("explain 409", { code: 0, stdout }, { env });
    const names = ["unsigned", "signature_mismatch", "stale"];
    const meaning = expect.stringContaining('With unverifiable: "reject" only.') as string;
    const outcomes = names.map((name) => ({ name, meaning }));
    await expectEnd("explain 401 --json", { json: { status: 401, outcomes } }, { env });
  });

  test("of an outcome says where the request comes from that its command reads", async () => {
    const stdout =
      /explain request\.txt request\.txt is one refused request .* `identity-gateway-webhooks listen --port 4000 --forward/;
    await expectEnd("explain signature_mismatch", { stdout });
    await expectEnd("explain handled", { never: "request.txt" });
  });
});
