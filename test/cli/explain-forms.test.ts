import { stringify } from "yaml";
import { expect, test } from "vitest";
import { logLine } from "../../src/answer/log-line.js";
import { runCommand } from "../support/cli/cli-io.js";
import {
  ALARM_BODY,
  captured,
  HEADERS,
  LINES,
  LOWER,
  NOW_MS,
  PAIRS,
  SECRET,
} from "../kit/diagnosis-capture.js";

const HTTP = ["POST /hook HTTP/1.1", ...LINES, "", ALARM_BODY].join("\n");
const QUOTED = JSON.stringify(ALARM_BODY);
const NAMES = Object.entries(LOWER).map(([name, value]) => `${name}=${value}`);

async function explain(capture: string, secret = SECRET) {
  const argv = ["explain", "--secret", secret, "--now", String(NOW_MS / 1_000), "--json"];
  const { code, stdout, stderr } = await runCommand(argv, { stdin: capture });
  const { findings } = JSON.parse(stdout === "" ? '{"findings":[]}' : stdout) as {
    findings: { code: string; message: string }[];
  };
  return { code, stderr, codes: findings.map((one) => one.code), message: findings[0]?.message };
}

/** The same delivery in the forms in which people have it. */
const FORMS: Readonly<Record<string, string>> = {
  "a log line of this library": logLine("refused", Object.assign({ body: ALARM_BODY }, LOWER)),
  "JSON in a string of JSON": JSON.stringify({
    message: JSON.stringify({ body: ALARM_BODY, headers: LOWER }),
  }),
  "curl for cmd.exe": `curl ^"https://a.example/^" ^\n ${LINES.map((line) => `-H ^"${line}^" ^\n`).join(" ")} --data-raw ^"${ALARM_BODY.replaceAll(/[\\"]/g, "\\$&").replaceAll(/[^\w\s]/gu, "^$&")}^"`,
  YAML: stringify({ request: { headers: HEADERS, body: ALARM_BODY } }),
  "YAML with a block": stringify(
    { headers: HEADERS, body: ALARM_BODY },
    { lineWidth: 0, defaultStringType: "BLOCK_LITERAL" },
  ),
  ".http": `### alarms\n# @no-log\nPOST https://a.example/hook HTTP/1.1\n${LINES.join("\n")}\n\n${ALARM_BODY}\n\n### next\nGET https://a.example\n`,
  PowerShell: `$headers = @{\n${PAIRS.map(([name, value]) => `  '${name}' = '${value}'\n`).join("")}}\nInvoke-RestMethod -Method POST -Headers $headers -Uri https://a.example -Body '${ALARM_BODY.replaceAll("'", "''")}'`,
  Bruno: `meta {\n  name: alarms\n}\n\npost {\n  url: https://a.example\n  body: json\n}\n\nheaders {\n${LINES.map((line) => `  ${line}\n`).join("")}}\n\nbody:json {\n  ${ALARM_BODY}\n}\n`,
  fetch: `fetch("https://a.example/hook", {\n  "headers": ${JSON.stringify(LOWER, null, 2)},\n  "body": ${QUOTED},\n  "method": "POST"\n});`,
  "code with header()": `request.post(url)${PAIRS.map(([name, value]) => `\n  .set("${name}", "${value}")`).join("")}\n  .send(${QUOTED});`,
  Sentry: JSON.stringify({ request: { method: "POST", headers: PAIRS, data: ALARM_BODY } }),
  CloudWatch: `2026-07-08T10:00:06.000Z\t4d2c\tINFO\t${JSON.stringify({ headers: LOWER, body: ALARM_BODY, isBase64Encoded: false })}`,
  "a map of Java": `Method request headers: {${NAMES.join(", ")}}\nMethod request body before transformations: ${ALARM_BODY}\n`,
  "names and values with = between": `${NAMES.join(" ")} body=${ALARM_BODY}\n`,
  "Markdown fences": `The request:\n\n\`\`\`http\n${HTTP}\n\`\`\`\n\nIt is refused.\n`,
  "a fence for each part": `Headers:\n\`\`\`\n${LINES.join("\n")}\n\`\`\`\nBody:\n\`\`\`json\n${ALARM_BODY}\n\`\`\`\n`,
  "a table of Markdown": `| header | value |\n| --- | --- |\n${PAIRS.map(([name, value]) => `| \`${name}\` | \`${value}\` |\n`).join("")}\n${ALARM_BODY}\n`,
  "bold names in a list": `${PAIRS.map(([name, value]) => `- **${name}:** ${value}\n`).join("")}\n\`${ALARM_BODY}\`\n`,
  "a text in percent codes": encodeURIComponent(HTTP),
  "a text in base64": Buffer.from(HTTP).toString("base64"),
  "a page in HTML": `<pre>${JSON.stringify({ headers: HEADERS, body: ALARM_BODY }).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")}</pre>`,
};

test.each(Object.entries(FORMS))(
  "explain finds the delivery in %s, and names a newline after the secret",
  async (_, capture) => {
    expect(await explain(capture)).toMatchObject({ code: 0, codes: [] });
    expect((await explain(capture, `${SECRET}\n`)).codes).toEqual(["secret_whitespace"]);
  },
);

const ADDRESS = "anna@shop.example";
/** Has what chats change: an address, a link, an apostrophe, two dashes, three dots, tabs and blanks. */
const RECORD = `{"alarm":{"id":1,"text":"it's ${ADDRESS} -- see https://shop.example/a_b ... *now*","account_id":7,"date":"2026-07-08 10:00:00"}}`;
const TABBED = `{\n\t"alarm": {\n\t\t"id": 1,\n\t\t"text": "a"\n\t}\n}`;

function http(body: string): string {
  const { headers } = captured({ body }) as { headers: Record<string, string> };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return ["POST /hook HTTP/1.1", ...lines, "", body].join("\n");
}

const everyLine = (text: string, before: string): string => text.replace(/^/gm, before);
const wrapped = (text: string): string =>
  text.replace(/.{40,72} /g, (line) => `${line.slice(0, -1)}\n`);

/** What chats, mails and editors do to a text. */
const ALTERATIONS: Readonly<Record<string, (text: string) => string>> = {
  "the quotes of a mail": (text) => everyLine(text, "> "),
  "the quotes of a mail, and its line ends": (text) => everyLine(wrapped(text), "> "),
  "an indented block": (text) => everyLine(text, "    "),
  "typographic quotes": (text) => text.replace(/"([^"\n]*)"/g, "“$1”"),
  "all that an editor makes typographic": (text) =>
    text
      .replaceAll("--", "–")
      .replaceAll("...", "…")
      .replaceAll("'", "’")
      .replace(/"([^"\n]*)"/g, "“$1”"),
  "no-break spaces": (text) => text.replaceAll(" ", "\u00a0"),
  "a zero-width space in the signature": (text) => text.replace("v1=", "v1=\u200b"),
  "zero-width characters": (text) =>
    text.replaceAll("@", "\u200b@\u2060").replaceAll(": ", ": \u200b"),
  "non-breaking hyphens": (text) => text.replaceAll("-", "\u2011"),
  "a mailto link of Outlook": (text) => text.replace(ADDRESS, `${ADDRESS}<mailto:${ADDRESS}>`),
  "a mailto link of Slack": (text) => text.replace(ADDRESS, `<mailto:${ADDRESS}|${ADDRESS}>`),
  "a mailto link of Markdown": (text) => text.replace(ADDRESS, `[${ADDRESS}](mailto:${ADDRESS})`),
  "a link of Slack": (text) => text.replace(/https:[^\s"\\]+/, "<$&>"),
  "the escapes of Markdown": (text) => text.replaceAll("_", "\\_").replaceAll("*", "\\*"),
  "lines of 72 characters": wrapped,
  "lines cut at 76 characters": (text) =>
    text.replace(/(\{.{75}|.{76})(?=.)/g, (line) =>
      line.startsWith("{") || line.includes('"') ? `${line}\n` : line,
    ),
  "quoted-printable": (text) => text.replaceAll("=", "=3D").replace(/(\{.{72})/g, "$1=\n"),
  "blanks at line ends": (text) => text.replace(/$/gm, "  "),
  "a sentence before it": (text) => `Hi, X-Webhook-Signature does not match here:\n\n${text}`,
  "a sentence behind it": (text) => `${text}\n\nWhat is wrong?`,
};

test.each(Object.entries(ALTERATIONS))(
  "explain reads a right delivery, or names the change, after %s",
  async (_, alter) => {
    for (const body of [RECORD, ALARM_BODY]) {
      const { codes, stderr } = await explain(alter(http(body)));
      expect(codes).not.toContain("unexplained");
      expect(stderr).toBe("");
    }
  },
);

test("explain reads a signature that begins as a code of a mail does", async () => {
  const texts = Array.from({ length: 5_000 }, (_, count) =>
    http(`${ALARM_BODY}${" ".repeat(count)}`),
  );
  const begins = texts.filter((text) => text.includes("v1=3d"));
  expect(begins.length).toBeGreaterThan(5);
  for (const text of begins.slice(0, 5)) expect((await explain(text)).codes).toEqual([]);
});

test.each([
  ["tabs became blanks", TABBED, TABBED.replaceAll("\t", "    ")],
  ["the newline at the end is gone", `${RECORD}\n`, RECORD],
  ["the body was indented anew", RECORD, JSON.stringify(JSON.parse(RECORD), null, 2)],
])("explain names the change when %s", async (_, body, sent) => {
  const { codes, message } = await explain(http(body).replace(body, () => sent));
  expect(codes).not.toContain("unexplained");
  expect(message).toMatch(/signed/);
});

test("explain says where the body stops being JSON when nothing explains it, and does not blame the secret", async () => {
  const { codes, message } = await explain(http(RECORD).replace('"account_id":7', "account id: 7"));
  expect(codes).toEqual(["unexplained"]);
  expect(message).toContain(`no JSON from byte ${String(RECORD.indexOf('"account_id"'))} on`);
  expect(message).not.toMatch(/likely the secret is wrong/i);
});

test.each([
  ["a sentence", "It does not work.\nThe X-Webhook-Id header is there.\n", "none of the 3 lines"],
  ["a body alone", ALARM_BODY, "a body alone is not a capture"],
  ["headers without a body", JSON.stringify({ a: 1, headers: HEADERS }, null, 2), "up to line 8"],
  [
    "a parsed body",
    JSON.stringify({ headers: HEADERS, body: JSON.parse(ALARM_BODY) as unknown }, null, 2),
    "the body at line 9 is a parsed object",
  ],
  ["an answer", `HTTP/1.1 200 OK\n${LINES.join("\n")}\n\n`, "line 1 is that of a response"],
  ["curl with the body in a file", `curl -H '${LINES.join("' -H '")}' -d @a`, "not the body"],
])("explain refuses %s with the place", async (_, capture, message) => {
  const { code, stderr } = await explain(capture);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test.each([
  ["empty lines", (lines: string) => lines + HTTP.slice(0, 40)],
  ["empty lines behind a name", (lines: string) => `x-webhook-id: ${lines}${lines}`],
  ["blanks behind a name", (lines: string) => `x-webhook-id:${lines.replaceAll("\n", " ")}x`],
  ["quote signs of a mail", () => `${"> ".repeat(40_000)}x-webhook-id: a\n`],
])("explain reads 80 kB of %s in linear time", async (_, write) => {
  const startedAt = performance.now();
  await explain(write("\n".repeat(80_000)));
  // A reader that takes the square of the length needs half a minute.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});
