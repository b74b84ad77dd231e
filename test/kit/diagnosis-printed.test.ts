import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CaptureError } from "../../kit/diagnosis/captured-request.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { ALARM_BODY, captured, codesOf, ID, NOW_MS, SECRET } from "./diagnosis-capture.js";

const HEADERS = captured().headers as Record<string, string>;
const LOWER = Object.fromEntries(
  Object.entries({ Host: "a.example", ...HEADERS }).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ]),
);
const RAW = Object.entries(HEADERS).flat();
const PAIRS = Object.entries(HEADERS);
const PARSED: unknown = JSON.parse(ALARM_BODY);
const PRETTY = (value: unknown): string => JSON.stringify(value, null, 2);

function powerShell(text: string): string {
  return text
    .replaceAll(/[`"$]/g, "`$&")
    .replaceAll(/[^ -~]/g, (one) => `$([char]${one.charCodeAt(0)})`);
}

/** The same delivery in the forms in which people have it. */
const FORMS: readonly [what: string, capture: string][] = [
  ["console.log of Node's headers", `${inspect(LOWER)}\n${ALARM_BODY}`],
  ["the same with a blank line", `${inspect(LOWER)}\n\n${ALARM_BODY}`],
  ["console.log after a word", `headers ${inspect(LOWER)}\n${ALARM_BODY}`],
  ["console.log of headersDistinct", `${inspect(new Map(PAIRS))}\n${ALARM_BODY}`],
  ["console.log of Headers", `${inspect(new Headers(HEADERS))}\n${ALARM_BODY}`],
  ["console.log of rawHeaders", `${inspect(RAW)}\n${ALARM_BODY}`],
  ["the headers in JSON", `${JSON.stringify(HEADERS)}\n${ALARM_BODY}`],
  ["the headers in JSON, indented", `${PRETTY(HEADERS)}\r\n\r\n${ALARM_BODY}`],
  ["rawHeaders in JSON", JSON.stringify({ rawHeaders: RAW, body: ALARM_BODY })],
  [
    "a line of pino",
    `{"level":30,"msg":"listening"}\n${JSON.stringify({ level: 30, time: NOW_MS, req: { id: 1, method: "POST", headers: LOWER, body: ALARM_BODY } })}\n`,
  ],
  [
    "a line of winston",
    JSON.stringify({ level: "info", message: "webhook", headers: LOWER, rawBody: ALARM_BODY }),
  ],
  [
    "a line of winston with text before it",
    `info: webhook ${JSON.stringify(LOWER)}\n${ALARM_BODY}`,
  ],
  [
    "an export of Postman",
    PRETTY({
      info: { name: "a" },
      item: [
        { name: "folder", item: [{ name: "other", request: { method: "GET", header: [] } }] },
        {
          name: "webhook",
          request: {
            method: "POST",
            header: PAIRS.map(([key, value]) => ({ key, value, type: "text" })),
            body: { mode: "raw", raw: ALARM_BODY, options: { raw: { language: "json" } } },
            url: { raw: "https://a.example/hook" },
          },
        },
      ],
    }),
  ],
  [
    "an export of Insomnia",
    PRETTY({
      _type: "export",
      resources: [
        { _type: "workspace", name: "a" },
        {
          _type: "request",
          method: "POST",
          headers: PAIRS.map(([name, value]) => ({ id: "pair_1", name, value })),
          body: { mimeType: "application/json", text: ALARM_BODY },
        },
      ],
    }),
  ],
  [
    "an event of Pipedream",
    PRETTY({
      trigger: { event: { method: "POST", headers: LOWER, bodyRaw: ALARM_BODY, body: PARSED } },
    }),
  ],
  [
    "a raw event of Pipedream",
    JSON.stringify({
      headers: LOWER,
      body_b64: Buffer.from(ALARM_BODY).toString("base64"),
      body: PARSED,
    }),
  ],
  [
    "a request of Azure Functions",
    PRETTY({ method: "POST", headers: LOWER, body: PARSED, rawBody: ALARM_BODY }),
  ],
  [
    "getallheaders() by print_r",
    `Array\n(\n${PAIRS.map(([name, value]) => `    [${name}] => ${value}\n`).join("")})\n\n${ALARM_BODY}`,
  ],
  [
    "getallheaders() by var_export",
    `array (\n${PAIRS.map(([name, value]) => `  '${name}' => '${value}',\n`).join("")})\n${ALARM_BODY}`,
  ],
  [
    "getallheaders() by var_dump",
    `array(5) {\n${PAIRS.map(([name, value]) => `  ["${name}"]=>\n  string(${value.length}) "${value}"\n`).join("")}}\n${ALARM_BODY}`,
  ],
  [
    "Copy as PowerShell",
    `Invoke-WebRequest -UseBasicParsing -Uri "https://a.example/hook" \`\n-Method "POST" \`\n-Headers @{\n${PAIRS.map(([name, value]) => `  "${name}"="${value}"\n`).join("")}} \`\n-ContentType "application/json" \`\n-Body ([System.Text.Encoding]::UTF8.GetBytes("${powerShell(ALARM_BODY)}"))`,
  ],
  [
    "a dict of Python",
    `{${PAIRS.map(([name, value]) => `'${name}': '${value}'`).join(", ")}}\n${ALARM_BODY}`,
  ],
  [
    "a hash of Ruby",
    `{${PAIRS.map(([name, value]) => `"${name}"=>"${value}"`).join(", ")}}\n${ALARM_BODY}`,
  ],
];

test.each(FORMS)("parseCapturedRequest reads a delivery from %s", async (_, capture) => {
  const request = parseCapturedRequest(capture);
  expect(Buffer.from(request.body).toString()).toBe(ALARM_BODY);
  const { result } = await diagnoseSignature({ ...request, now: NOW_MS, secret: SECRET });
  expect(result).toBe("good");
});

test("parseCapturedRequest keeps any body after the headers that Node prints", () => {
  const body = fc.uint8Array({ minLength: 1 }).filter(([first = 0]) => first > 0x3b);
  fc.assert(
    fc.property(body, fc.boolean(), (bytes, isRaw) => {
      const head = inspect(isRaw ? RAW : LOWER, { compact: false });
      const { headers, body: read } = parseCapturedRequest(
        Buffer.concat([Buffer.from(`${head}\n`), bytes]),
      );
      expect(headers[isRaw ? "X-Webhook-Id" : "x-webhook-id"]).toBe(ID);
      expect([...read]).toEqual([...bytes]);
    }),
  );
});

test("parseCapturedRequest reads any text as a request or refuses it with a CaptureError, in linear time", () => {
  const part = fc.constantFrom(
    ..."{}[]()'\"`\\,:=>\n ".split(""),
    ...["x-webhook-id", "X-Webhook-Id: a", "Array", "curl ", '-Body "', "$([char]229)"],
  );
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 40 }),
      fc.integer({ min: 1, max: 2_000 }),
      (parts, times) => {
        const startedAt = performance.now();
        try {
          parseCapturedRequest(parts.join("").repeat(times));
        } catch (error) {
          expect(error).toBeInstanceOf(CaptureError);
        }
        expect(performance.now() - startedAt).toBeLessThan(5_000);
      },
    ),
  );
});

test.each([
  ["an old one of Chrome", `curl "https://a.example/" ^\r\n  -H "a: b" ^\r\n  --data-raw "{}"`],
  ["a new one of Chrome", `curl ^"https://a.example/^" ^\n  -H ^"a: b^" ^\n  --data-raw ^"^{^}^"`],
])("a curl command for cmd.exe is refused, and not read as another body: %s", (_, command) => {
  expect(() => parseCapturedRequest(command)).toThrow(
    'the curl command is written for cmd.exe, with ^ at the end of lines, which changes the body: choose "Copy as cURL (bash)"',
  );
});

test("a caret inside a quoted body of a curl command is a caret", () => {
  const { body } = parseCapturedRequest(`curl -H 'a: b' --data-raw '^"x^"'`);
  expect(Buffer.from(body).toString()).toBe('^"x^"');
});

const SIGNATURE = HEADERS["X-Webhook-Signature"] ?? "";

test.each<[string, string, Parameters<typeof codesOf>[1]]>([
  [
    "header_whitespace",
    "a quoted signature",
    { change: { "X-Webhook-Signature": `v1="${SIGNATURE.slice(3)}"` } },
  ],
  [
    "header_whitespace",
    "a signature that was folded",
    { change: { "X-Webhook-Signature": `${SIGNATURE.slice(0, 30)} ${SIGNATURE.slice(30)}` } },
  ],
  [
    "header_whitespace",
    "an id that was folded",
    { change: { "X-Webhook-Id": `${ID.slice(0, 9)} ${ID.slice(9)}` } },
  ],
  [
    "secret_whitespace",
    "a zero-width space in the secret",
    { secret: `${SECRET.slice(0, 9)}\u200b${SECRET.slice(9)}` },
  ],
  ["secret_assignment", "a semicolon after the secret", { secret: `${SECRET};` }],
  [
    "secret_assignment",
    "the JSON of Secrets Manager",
    { secret: JSON.stringify({ name: "gateway", webhook_secret: SECRET }) },
  ],
])("explain names %s for %s", async (code, _, capture) => {
  expect(await codesOf({}, capture)).toContain(code);
});
