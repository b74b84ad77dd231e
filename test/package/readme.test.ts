import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { OUTCOMES, ruleOf, type Outcome } from "../../src/answer/outcome.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installForPartner, type PartnerProject } from "../support/package/partner-project.js";

const README = readMarkdown("README.md");
const { snippet, table } = README;

/** The lines of the table that stands between two comments with this name. */
function rowsBetween(name: string): string[] {
  const [, text = ""] = README.text.split(new RegExp(`<!-- /?${name} -->`));
  return text.split("\n").filter((line) => line.startsWith("|"));
}

/** Sends the README's function an alarm, its duplicate in base64, a changed alarm, and a probe. */
const CALL_LAMBDA = `
  import { sampleAlarm, signedDelivery } from "identity-gateway-webhooks/testing";
  import { handler } from "./lambda.js";
  const secret = process.env.GATEWAY_WEBHOOK_SECRET;
  const { headers, body: text } = await signedDelivery({ secret, alarm: sampleAlarm({ id: 7 }) });
  const event = (method, body, isBase64Encoded = false) =>
    ({ requestContext: { http: { method } }, headers, body, isBase64Encoded });
  const events = [
    event("POST", text),
    event("POST", Buffer.from(text).toString("base64"), true),
    event("POST", text.replace("7", "8")),
    event("GET"),
  ];
  for (const each of events) console.log(JSON.stringify(await handler(each)));
`;

test("the README's contents name every section in its order", () => {
  const [contents = ""] = /^\[Quick start\].*$/m.exec(README.text) ?? [];
  const linked = Array.from(contents.matchAll(/\]\((#[^)]+)\)/g), ([, anchor]) => anchor);
  const sections = Array.from(
    README.text.matchAll(/^## (.+)$/gm),
    ([, heading = ""]) => `#${heading.toLowerCase().replaceAll(" ", "-")}`,
  );
  expect(linked).toEqual(sections);
});

describe("the README's tables", () => {
  test("the README's performance rows are rows of the benchmark's output, with its date and machine", () => {
    const written = readFileSync(new URL("../../bench/results/table.md", import.meta.url), "utf8");
    const shown = rowsBetween("bench/results/table.md");
    expect(shown.length).toBeGreaterThan(9);
    expect(written.split("\n")).toEqual(expect.arrayContaining(shown));
    expect(README.text).toContain(written.split("\n")[0]);
  });

  test("the README's table of durable stores is the first table of the benchmark's output", () => {
    const written = readFileSync(new URL("../../bench/results/stores.md", import.meta.url), "utf8");
    const shown = rowsBetween("bench/results/stores.md");
    expect(shown).toHaveLength(10);
    expect(written).toContain(shown.join("\n"));
    expect(README.text).toContain(written.split("\n")[0]);
  });

  test("the README's table of outcomes lists every outcome with its statuses", () => {
    const written = table("outcome").map(([outcome, , status, rejected]) => [
      outcome,
      status,
      rejected,
    ]);
    const actual = (Object.keys(OUTCOMES) as Outcome[]).map((outcome) => {
      const rule = ruleOf(outcome);
      const allow = outcome === "method_not_allowed" ? " + Allow" : "";
      const retryAfter = rule.retryAfterMs === undefined ? "" : " + Retry-After";
      const rejected = rule.rejectStatus === undefined ? "" : String(rule.rejectStatus);
      return [outcome, `${String(rule.status)}${allow}${retryAfter}`, rejected];
    });
    expect(written).toEqual(actual);
  });

  test("the README's table of options gives the default of every whole-number option", () => {
    const written = Object.fromEntries(
      table("option").map(([name = "", value = ""]) => [name, Number(value.replaceAll(" ", ""))]),
    );
    for (const [name, { fallback }] of Object.entries(INTEGER_OPTIONS)) {
      expect(written[name], name).toBe(fallback);
    }
  });
});

describe("the README's snippets", () => {
  let project: PartnerProject;

  beforeAll(() => {
    project = installForPartner();
  });

  afterAll(() => {
    project.remove();
  });

  test("the README's snippets compile against the installed package", () => {
    const snippets = README.snippets("ts");
    expect(snippets.length).toBeGreaterThanOrEqual(7);
    expect(project.compile(snippets)).toBe("");
  });

  test("the README's first snippet fits on a screen", () => {
    expect(snippet("ts", "// server.ts").trim().split("\n").length).toBeLessThanOrEqual(15);
  });

  test("the README's Lambda function answers with a statusCode and accepts base64 bodies", () => {
    project.write("lambda.ts", snippet("ts", "// lambda.ts"));
    project.write("call-lambda.ts", CALL_LAMBDA);
    const tsx = import.meta.resolve("tsx");
    const printed = project.node(["--import", tsx, "call-lambda.ts"], {
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
    });
    const [handled, ...answers] = printed.trim().split("\n");
    expect(handled).toBe("7");
    expect(answers.map((answer) => JSON.parse(answer) as unknown)).toEqual([
      {
        statusCode: 200,
        headers: { "content-type": "application/json", "cache-control": "no-store" },
        body: '{"outcome":"handled"}',
        isBase64Encoded: false,
      },
      expect.objectContaining({ statusCode: 200, body: '{"outcome":"duplicate"}' }),
      expect.objectContaining({
        statusCode: 409,
        body: expect.stringContaining("SIGNATURE_MISMATCH") as unknown,
      }),
      expect.objectContaining({ statusCode: 200, body: "" }),
    ]);
  });

  test("the README's fixture test passes in the partner's runner", () => {
    project.write("alarm.test.ts", snippet("ts", "// alarm.test.ts"));
    expect(project.vitest("alarm.test.ts")).toMatch(/Tests\s+1 passed/);
  });
});
