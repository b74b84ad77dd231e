import { expect, test } from "vitest";
import { readErrorCodes } from "../../cli/error-codes.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../../src/answer/outcome-causes.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtureNamed } from "../support/fixtures.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const OTHER_SECRET = "whsec_other_0123456789abcdef";
const NOW = ["--now", "2026-07-08T10:00:06Z"];
const { headers, body } = fixtureNamed("alarm-email-hacked");
const head = Object.entries(headers)
  .map(([name, value]) => `${name}: ${String(value)}`)
  .join("\r\n");
const text = Buffer.from(body).toString();
const capture = (content: string) => `POST /webhooks/gateway HTTP/1.1\r\n${head}\r\n\r\n${content}`;

test("explain passes a fixture at the time of its recording", async () => {
  const { code, stdout } = await runCommand(`explain fixtures/alarm-email-hacked.json`);
  expect(stdout).toBe(`✓ The signature is good, and the delivery fresh.
    A receiver with a handler for it answers 200 handled.
    One whose handlers do not name it answers 200 unhandled: No handler is given for this type of
    delivery.
`);
  expect(code).toBe(0);
});

test.each([
  [
    "hostile/invalid-utf-8",
    "503 unrecognized",
    ["body_unrecognized (seen", "expected JSON in UTF-8"],
  ],
  ["hostile/stale", "409 stale", ["timestamp_behind (seen"]],
  ["hostile/flipped-type-header", "409 type_mismatch", ["type_mismatch (seen"]],
])("explain says what a receiver answers to the authentic %s", async (name, answer, texts) => {
  const { stdout } = await expectEnd(`explain fixtures/${name}.json`, {
    code: 1,
    stdout: `✗ The signature is right, but a receiver answers ${answer}.\n`,
  });
  for (const text of texts) expect(stdout).toContain(text);
});

test.each([
  [["--now", "2026-07-08T10:00:06Z"], 0],
  [["--now", "1783504806"], 0],
  [["--now", "2026-07-08 10:00:06"], 0],
  [["--now", "2026-07-08T10:30:06Z"], 1],
  [[], 1],
])("the time of capture is given by %j", async (argv, expected) => {
  const { code, stdout } = await runCommand(["explain", ...argv], { stdin: capture(text) });
  expect(code).toBe(expected);
  if (expected === 1) expect(stdout).toContain("timestamp_behind");
});

test("explain reads standard input, and finds a newline after the body", async () => {
  await expectEnd(
    ["explain", ...NOW],
    { code: 1, stdout: /✗ .*\n\n {2}body_trailing_newline \(proven/ },
    { stdin: capture(`${text}\n`) },
  );
});

test("explain takes headers and body from two files", async () => {
  const argv = [
    "explain",
    folder.write("head.txt", head),
    "--body",
    folder.write("body.json", text),
    ...NOW,
  ];
  await expectEnd(argv, { code: 0 });
  const spaced = folder.write("spaced.json", JSON.stringify(JSON.parse(text), null, 2));
  await expectEnd([...argv.slice(0, 3), spaced, ...NOW], { code: 1, stdout: "body_reserialised" });
});

test("explain finds a body that is longer than --max-body-bytes", async () => {
  const argv = ["explain", ...NOW, "--max-body-bytes"];
  const stdin = capture(text);
  await expectEnd([...argv, String(body.length)], { code: 0 }, { stdin });
  await expectEnd(
    [...argv, String(body.length - 1)],
    { code: 1, stdout: /body_too_large[^]*accepts at most \d+/ },
    { stdin },
  );
});

test("explain names the secret that matches by its place in the list", async () => {
  const good = ["--secret", OTHER_SECRET, "--secret", TEST_SECRET];
  const { code, stdout } = await expectEnd(
    ["explain", ...good, ...NOW],
    { code: 0, stdout: "It is secret 2 of 2." },
    { stdin: capture(text) },
  );

  const other = ["--secret", "wrong", "--other-secret", TEST_SECRET];
  const wrong = await runCommand(["explain", ...other, ...NOW, "--json"], { stdin: capture(text) });
  const diagnosis = JSON.parse(wrong.stdout) as { result: string; findings: { code: string }[] };
  expect(wrong.code).toBe(1);
  expect(diagnosis).toMatchObject({ result: "bad", findings: [{ certainty: "proven" }] });
});

test("explain finds a newline that was read with the secret", async () => {
  await expectEnd(
    ["explain", "--secret", `${TEST_SECRET}\n`, ...NOW],
    { code: 1, stdout: "secret_", never: TEST_SECRET },
    {
      stdin: capture(text),
    },
  );
});

test("explain lists the usual causes when it finds none, as the log does", async () => {
  const stdin = capture('{"alarm":{"id":2}}');
  const { stdout } = await expectEnd(
    ["explain", ...NOW],
    { code: 1, stdout: "unexplained" },
    { stdin },
  );
  const [, list = ""] = stdout.split("Usual causes:\n");
  const listed = list.replaceAll(/\s+/g, " ");
  for (const cause of OUTCOME_CAUSES.signature_mismatch.causes) {
    expect(listed).toContain(`- ${cause}`);
  }
});

test("explain shows no part of the secret, the signature or the body", async () => {
  const stdin = capture(text.replace("astrid", "bertil"));
  for (const argv of [[], ["--json"]]) {
    const { stdout, stderr } = await runCommand(["explain", ...NOW, ...argv], { stdin });
    const signature = String(headers["X-Webhook-Signature"]);
    for (const hidden of [TEST_SECRET, signature.slice(3), "bertil", "exempel", "4242"]) {
      expect(stdout + stderr).not.toContain(hidden);
    }
  }
});

test.each([
  [["explain", "/there/is/none"], "", "no such file"],
  [["explain", "--body", "-"], "", "standard input cannot be both"],
  [["explain", "--now", "yesterday"], capture(text), "--now must be"],
  [["explain"], "", "the capture is empty"],
])("%j is wrong usage", async (argv, stdin, message) => {
  await expectEnd(runCommand(argv, { stdin }), { code: 2, stdout: "", stderr: message });
});

test("explain says how to pass a secret; at a terminal it says that it reads standard input", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };
  await expectEnd("explain", { stderr: "no secret: set GATEWAY_" }, { env });
  await expectEnd(["explain", ...NOW], { stderr: "Ctrl-D" }, { stdin: capture(text), isTTY: true });
});

test.each([
  ["stale", ["stale (outcome)", "outside the tolerance", "Answered 409"]],
  ["SIGNATURE_MISMATCH", ["signature_mismatch (outcome)", "explain request.txt"]],
  ["redis_unavailable", ["redis_unavailable (error code)", "GatewayWebhookError"]],
  ["ConfigurationError", ["unknown_option (error code)", "missing_secret (error code)"]],
  ["retry_later", ["retry_later (outcome)", "retry_later (error code)"]],
])("explain %s prints what the documents say, and needs no secret", async (name, texts) => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };
  const { code, stdout, stderr } = await runCommand(`explain ${name}`, { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const text of texts) expect(stdout.replaceAll(/\s+/g, " ")).toContain(text);
});

test("explain knows every outcome and every error code", async () => {
  const names = [...Object.keys(OUTCOMES), ...readErrorCodes().map(({ code }) => code)];
  for (const name of new Set(names)) {
    const { code, stdout } = await runCommand(`explain ${name} --json`);
    const { pages } = JSON.parse(stdout) as { pages: { name: string; meaning: string }[] };
    expect(code).toBe(0);
    expect(pages.length).toBeGreaterThan(0);
    for (const page of pages) {
      expect(page.name).toBe(name);
      expect(page.meaning).toMatch(/^[A-Z].*\.$/);
    }
  }
});

test("explain lists the outcomes that answer a status", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };
  const { stdout } = await expectEnd(
    "explain 409",
    {
      code: 0,
      stdout: [
        /^A receiver of this library answers 409 to:\n/,
        /\n {2}in_flight +The delivery is being handled right now\.\n/,
        /\n {2}signature_mismatch +No configured secret/,
      ],
    },
    { env },
  );
  const { stdout: json } = await runCommand("explain 401 --json", { env });
  const { status, outcomes } = JSON.parse(json) as {
    status: number;
    outcomes: { name: string; meaning: string }[];
  };
  expect(status).toBe(401);
  expect(outcomes.map(({ name }) => name)).toEqual(["unsigned", "signature_mismatch", "stale"]);
  expect(outcomes[0]?.meaning).toContain('With unverifiable: "reject" only.');
  await expectEnd("explain 418", { stderr: "no such file" }, { env });
});

test("explain says that a misspelt name is no file, and which one is similar", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: "" };
  const { stderr } = await expectEnd(
    "explain signature_mismach",
    { code: 2, stderr: ["no such file", "did you mean signature_mismatch?"] },
    { env },
  );
  await expectEnd("explain ./stale", { stderr: /no such file\n/ });
});

test("explain reads a curl command, with the body in another file", async () => {
  const lines = Object.entries(headers).map(([name, value]) => `-H '${name}: ${String(value)}'`);
  const command = folder.write("curl.txt", `curl https://a.example/hook ${lines.join(" ")}`);
  const body = folder.write("curl-body.json", text);
  await expectEnd(["explain", command, "--body", body, ...NOW], { code: 0 });
});

test("the page of an outcome says where the request comes from that its command reads", async () => {
  await expectEnd("explain signature_mismatch", {
    stdout:
      /explain request\.txt request\.txt is one refused request .* `identity-gateway-webhooks listen --port 4000 --forward/,
  });
  await expectEnd("explain handled", { never: "request.txt" });
});
