import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { CaptureError } from "../../kit/diagnosis/captured-request.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { readChunks } from "../../kit/diagnosis/http-head.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { thrownBy } from "../support/thrown.js";
import {
  ALARM_BODY,
  codesOf,
  HEADERS,
  ID,
  LINES,
  LOWER,
  NOW_MS,
  PAIRS,
  SECRET,
} from "./diagnosis-capture.js";

const RAW = PAIRS.flat();
const PARSED: unknown = JSON.parse(ALARM_BODY);
const PRETTY = (value: unknown): string => JSON.stringify(value, null, 2);

function powerShell(text: string): string {
  return text
    .replaceAll(/[`"$]/g, "`$&")
    .replaceAll(/[^ -~]/g, (one) => `$([char]${one.charCodeAt(0)})`);
}

/** An export of Insomnia 5, written by the package that it uses, with a request before the delivery and one after. */
function insomnia5(): string {
  const meta = { id: "req_1", created: 1_760_000_000_000, isPrivate: false };
  const settings = { encodeUrl: true, cookies: { send: true, store: true } };
  const other = { url: "https://a.example/", name: "other", meta, method: "GET", settings };
  const headers = PAIRS.map(([name, value]) => ({ name, value, disabled: false }));
  const body = { mimeType: "application/json", text: ALARM_BODY };
  const webhook = { ...other, name: "webhook", method: "POST", body, headers };
  const folder = { name: "folder", meta, children: [other, webhook, other] };
  const environments = { name: "Base", data: { base: "https://a.example" }, tags: [] };
  const type = "collection.insomnia.rest/5.0";
  return stringify(
    { type, name: "a", collection: [other, folder], environments },
    { aliasDuplicateObjects: false },
  );
}

/** The same delivery in the forms in which people have it. */
const FORMS: Readonly<Record<string, string>> = {
  "console.log of Node's headers": `${inspect(LOWER)}\n${ALARM_BODY}`,
  "console.log of headersDistinct": `${inspect(new Map(PAIRS))}\n${ALARM_BODY}`,
  "console.log of Headers": `${inspect(new Headers(HEADERS))}\n${ALARM_BODY}`,
  "console.log of rawHeaders": `${inspect(RAW)}\n${ALARM_BODY}`,
  "the headers in JSON": `${JSON.stringify(HEADERS)}\n${ALARM_BODY}`,
  "the headers in JSON, indented": `${PRETTY(HEADERS)}\r\n\r\n${ALARM_BODY}`,
  "rawHeaders in JSON": JSON.stringify({ rawHeaders: RAW, body: ALARM_BODY }),
  "a line of pino": `{"level":30,"msg":"listening"}\n${JSON.stringify({ level: 30, time: NOW_MS, req: { id: 1, method: "POST", headers: LOWER, body: ALARM_BODY } })}\n`,
  "a line of winston": JSON.stringify({
    level: "info",
    message: "webhook",
    headers: LOWER,
    rawBody: ALARM_BODY,
  }),
  "a line of winston with text before it": `info: webhook ${JSON.stringify(LOWER)}\n${ALARM_BODY}`,
  "an export of Postman": PRETTY({
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
  "an export of Insomnia": PRETTY({
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
  "an export of Insomnia 5": insomnia5(),
  "an event of Pipedream": PRETTY({
    trigger: { event: { method: "POST", headers: LOWER, bodyRaw: ALARM_BODY, body: PARSED } },
  }),
  "a raw event of Pipedream": JSON.stringify({
    headers: LOWER,
    body_b64: Buffer.from(ALARM_BODY).toString("base64"),
    body: PARSED,
  }),
  "a request of Azure Functions": PRETTY({
    method: "POST",
    headers: LOWER,
    body: PARSED,
    rawBody: ALARM_BODY,
  }),
  "getallheaders() by var_export": `array (\n${PAIRS.map(([name, value]) => `  '${name}' => '${value}',\n`).join("")})\n${ALARM_BODY}`,
  "getallheaders() by var_dump": `array(5) {\n${PAIRS.map(([name, value]) => `  ["${name}"]=>\n  string(${value.length}) "${value}"\n`).join("")}}\n${ALARM_BODY}`,
  "Copy as PowerShell": `Invoke-WebRequest -UseBasicParsing -Uri "https://a.example/hook" \`\n-Method "POST" \`\n-Headers @{\n${PAIRS.map(([name, value]) => `  "${name}"="${value}"\n`).join("")}} \`\n-ContentType "application/json" \`\n-Body ([System.Text.Encoding]::UTF8.GetBytes("${powerShell(ALARM_BODY)}"))`,
  "a dict of Python": `{${PAIRS.map(([name, value]) => `'${name}': '${value}'`).join(", ")}}\n${ALARM_BODY}`,
  "a hash of Ruby": `{${PAIRS.map(([name, value]) => `"${name}"=>"${value}"`).join(", ")}}\n${ALARM_BODY}`,
};

const TEXT = [...LINES, "", ALARM_BODY].join("\n");
const SENT = LINES.map((line) => `> ${line}`).join("\n");
const BASE64 = Buffer.from(ALARM_BODY).toString("base64");
const BYTES = Buffer.byteLength(ALARM_BODY);
const LISTS = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name, [value]]));
/** The delivery's headers as CGI variables. */
const CGI = [
  "PATH=/usr/bin",
  "REQUEST_METHOD=POST",
  "CONTENT_TYPE=application/json",
  "HTTP_HOST=a.example",
  ...Object.entries(HEADERS)
    .filter(([name]) => name.startsWith("X-"))
    .map(([name, value]) => `HTTP_${name.toUpperCase().replaceAll("-", "_")}=${value}`),
];
const VARIABLES = Object.fromEntries(CGI.map((line) => line.split(/=(.*)/s, 2))) as object;

const crlf = (text: string) => text.replaceAll("\n", "\r\n");
const bodyOf = (capture: string | Uint8Array) =>
  Buffer.from(parseCapturedRequest(capture).body).toString();
/** Each CGI variable as `write` writes it, between the two ends, and the body. */
const cgi = (write: (line: string) => string, begin = "", end = "") =>
  `${begin}${CGI.map((line) => `${write(line)}\n`).join("")}${end}\n${ALARM_BODY}`;

async function resultOf(capture: string | Uint8Array, now?: number): Promise<string> {
  const request = parseCapturedRequest(capture);
  const at = now === undefined ? {} : { now };
  return (await diagnoseSignature({ ...request, ...at, secret: SECRET })).result;
}

function curlCommand(quote: (text: string) => string): string {
  const headers = LINES.map((line) => `  -H ${quote(line)}`);
  const words = ["curl 'https://a.example/hook'", ...headers, `  --data-raw ${quote(ALARM_BODY)}`];
  return `${words.join(" \\\n")} \\\n  --compressed`;
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function escapedAnsi(character: string): string {
  const unit = character.charCodeAt(0);
  return unit < 128 ? `\\${character}` : `\\u${unit.toString(16).padStart(4, "0")}`;
}

const NGROK = {
  id: "air_1",
  start: "2025-10-09T10:53:20+02:00",
  request: {
    method: "POST",
    headers: LISTS,
    raw: Buffer.from(crlf(`POST /hook HTTP/1.1\nHost: a.example\n${TEXT}`)).toString("base64"),
  },
  response: { status: "409 Conflict" },
};
const WEBHOOK_SITE = {
  uuid: ID,
  method: "POST",
  headers: LISTS,
  content: ALARM_BODY,
  created_at: "2025-10-09 08:53:20",
};
const HAR = {
  startedDateTime: new Date(NOW_MS).toISOString(),
  request: {
    method: "POST",
    headers: Object.entries(HEADERS).map(([name, value]) => ({ name, value })),
    postData: { mimeType: "application/json", text: ALARM_BODY },
  },
  response: { headers: [{ name: "Content-Length", value: "7" }], content: { text: "{}" } },
};
const CURL_VERBOSE = `*   Trying 127.0.0.1:3000...
* Connected to 127.0.0.1 (127.0.0.1) port 3000
> POST /hook HTTP/1.1
> Host: 127.0.0.1:3000
${SENT}
>${" "}
} [340 bytes data]
${ALARM_BODY}
* upload completely sent off: 340 bytes
< HTTP/1.1 409 Conflict
<`;

/**
 * The same delivery in further forms, byte for byte. Those that are not text are written as JSON. Forms with the time of
 * capture have a test of their own.
 */
const CAPTURES: Readonly<Record<string, string | Uint8Array | object>> = {
  "HTTP with CRLF": crlf(`POST /hook HTTP/1.1\n${TEXT}`),
  "HTTP with LF": `POST /hook HTTP/1.1\n${TEXT}`,
  "headers without a request line": TEXT,
  "blank lines before it": `\r\n\n${TEXT}`,
  "HTTP/2 as tools print it": `:method: POST\n:path: /\n${TEXT}`,
  "a mark before it": `\uFEFF${TEXT}`,
  "UTF-16 of PowerShell": Buffer.from(crlf(`\uFEFF${TEXT}`), "utf16le"),
  "UTF-16 of the other byte order": Buffer.from(`\uFEFF${TEXT}`, "utf16le").swap16(),
  "a folded line": `Via: one,\n\ttwo\n${TEXT}`,
  "curl -v": CURL_VERBOSE,
  "curl -v followed by the body": crlf(`> POST / HTTP/1.1\n${SENT}\n>\n${ALARM_BODY}`),
  "curl -v without a line between head and body": `> POST / HTTP/1.1\n${SENT}\n${ALARM_BODY}\n* done`,
  chunks: crlf(
    `Transfer-Encoding: chunked\n${TEXT.replace(ALARM_BODY, () => `${BYTES.toString(16)}\n${ALARM_BODY}\n0\n\n`)}`,
  ),
  "a fixture in base64": { headers: HEADERS, bodyBase64: BASE64 },
  "one in base64, with values in lists": {
    multiValueHeaders: LISTS,
    headers: HEADERS,
    body: BASE64,
    isBase64Encoded: true,
  },
  HAR: { log: { entries: [{ request: { headers: [], method: "GET" } }, HAR] } },
  "a curl command": curlCommand(shellQuoted),
  "a curl command in double quotes, on one line": curlCommand(
    (text) => `"${text.replace(/[\\"$`]/g, "\\$&")}"`,
  ).replaceAll(" \\\n ", ""),
  "a curl command as Chrome copies it": curlCommand(
    (text) => `$'${text.replace(/[^ -~]|['\\]/g, escapedAnsi)}'`,
  ),
  "a curl command with -d and joined options": `$ curl -sS -XPOST ${LINES.map((line) => `-H'${line}'`).join(" ")} -d ${shellQuoted(ALARM_BODY)} https://a.example/hook; echo done`,
  "ngrok's list of requests": {
    uri: "/api/requests/http",
    requests: [{ request: { headers: {}, raw: "R0VUIC8=" } }, NGROK],
  },
  "webhook.site's list of requests": { data: [{ headers: {} }, WEBHOOK_SITE], total: 2 },
  "the environment of a CGI program": cgi(String),
  "exported variables": cgi((line) => `declare -x ${line.replace("=", '="')}"`),
  "$_SERVER by PHP's print_r": cgi(
    (line) => `    [${line.replace("=", "] => ")}`,
    "Array\n(\n",
    ")\n",
  ),
  "$_SERVER in JSON with the body": { ...VARIABLES, body: ALARM_BODY },
};

const textOf = (capture: string | Uint8Array | object) =>
  typeof capture === "string" || capture instanceof Uint8Array ? capture : JSON.stringify(capture);

test.each([...Object.entries(FORMS), ...Object.entries(CAPTURES)])(
  "parseCapturedRequest reads the same delivery from %s",
  async (_, capture) => {
    expect(bodyOf(textOf(capture))).toBe(ALARM_BODY);
    expect(await resultOf(textOf(capture), NOW_MS)).toBe("good");
  },
);

test("parseCapturedRequest reads the time of capture if the capture contains it", async () => {
  const event = { headers: HEADERS, body: ALARM_BODY, requestContext: { timeEpoch: NOW_MS } };
  const fixture = { headers: HEADERS, body: ALARM_BODY, receivedAt: "2025-10-09T08:53:20Z" };
  for (const capture of [event, fixture, HAR, NGROK, WEBHOOK_SITE]) {
    const text = JSON.stringify(capture);
    expect(parseCapturedRequest(text).receivedAt).toEqual(new Date(NOW_MS));
    expect(await resultOf(text)).toBe("good");
  }
});

test("parseCapturedRequest reads the method, and a repeated header as a list", () => {
  const capture = `PUT /hook HTTP/1.1\nX-Webhook-Id: ${ID}\nX-Webhook-Id: other\n\n`;
  const { method, headers, body } = parseCapturedRequest(capture);
  expect([method, headers["X-Webhook-Id"], body.length]).toEqual(["PUT", [ID, "other"], 0]);
});

test("parseCapturedRequest trims the blanks around a header value and keeps those inside", () => {
  const capture = `A:b\nB: \t \nC:\t c  d \t\nD:: \n\n`;
  const { headers } = parseCapturedRequest(capture);
  expect(headers).toEqual({ A: "b", B: "", C: "c  d", D: ":" });
});

test("parseCapturedRequest reads long runs of blanks in CGI variables and curl commands in linear time", () => {
  const blanks = " ".repeat(60_000);
  const dump = `${blanks}x\nHTTP_A=${blanks}b${blanks}\n\nbody`;
  expect(() => parseCapturedRequest(dump)).toThrow("line 1 is no");
  const variables = `HTTP_X_WEBHOOK_ID=${blanks}b\n${blanks}(${blanks}x\n\nbody`;
  expect(bodyOf(variables)).toBe("body");
  const command = `curl -H 'x-webhook-id: b' --data-raw '${"\\".repeat(300_000)}' ${blanks}`;
  expect(parseCapturedRequest(command).body).toHaveLength(300_000);
});

// Without a linear trim this takes minutes.
test(
  "parseCapturedRequest reads a long run of blanks in a header value in linear time",
  { timeout: 20_000 },
  () => {
    const blanks = " \t".repeat(300_000);
    const value = `a${blanks}b`;
    const capture = `X-A: ${value}${blanks}\r\n\r\nbody`;
    expect(parseCapturedRequest(capture).headers["X-A"] === value).toBe(true);
  },
);

test("parseCapturedRequest keeps the first thousand header lines", () => {
  const head = "A: b\r\n".repeat(30_000);
  const { headers, body } = parseCapturedRequest(`Host: x\r\n${head}\r\nbody`);
  expect(headers["Host"]).toBe("x");
  expect(headers["A"]).toHaveLength(999);
  expect(Buffer.from(body).toString()).toBe("body");
});

test("parseCapturedRequest keeps bytes that are not UTF-8 and the newline that ends the file", () => {
  const bytes = Buffer.of(0xff, 0x00, 0x0d, 0x0a, 0x0a, 0xe5, 0x0a);
  const capture = Buffer.concat([Buffer.from(`${LINES.join("\r\n")}\r\n\r\n`), bytes]);
  expect(Buffer.from(parseCapturedRequest(capture).body).equals(bytes)).toBe(true);
});

test.each([
  ["nothing", " \r\n\t", "empty_capture"],
  ["a response", `HTTP/1.1 200 OK\n${LINES.join("\n")}\n\n`, "not_a_request"],
  ["no headers", "POST / HTTP/1.1\n\nbody", "missing_headers"],
  ["no blank line", LINES.join("\n"), "missing_body"],
  ["only a body", ALARM_BODY, "missing_headers"],
  ["broken JSON", ALARM_BODY.slice(0, -1), "missing_headers"],
  ["an event without body", JSON.stringify({ headers: HEADERS }), "missing_body"],
  ["a parsed body", JSON.stringify({ headers: HEADERS, body: {} }), "invalid_body"],
  ["HAR without a body", JSON.stringify({ request: { headers: HEADERS } }), "missing_body"],
  ["variables without a blank line", CGI.join("\n"), "missing_body"],
  ["a curl command without headers", "curl https://a.example -d {}", "missing_headers"],
  ["a curl command with a file", `curl -H 'X-Webhook-Id: ${ID}' -d @body.json`, "missing_body"],
])("parseCapturedRequest refuses this capture by what it lacks: %s", (_, capture, code) => {
  expect(() => parseCapturedRequest(capture)).toThrow(
    expect.objectContaining({ name: "CaptureError", code }) as Error,
  );
});

test.each([
  `curl -H 'X-Webhook-Id: ${ID}'`,
  JSON.stringify({ data: [{ content: ID }, { content: ID }] }),
  `POST /${ID} HTTP/1.1\r\n${ID} without a colon\r\n\r\n${ID}`,
  `{"headers": {"x-webhook-id": "${ID}"}, "body": {"${ID}": 1}}`,
  `{"${ID}": "${ID}"`,
])("the error of parseCapturedRequest quotes nothing of %j", (text) => {
  const error = thrownBy(() => parseCapturedRequest(text)) as Error;
  const shown = String(error) + JSON.stringify(error) + String(error.cause);
  expect(shown).toMatch(/^CaptureError: /);
  expect(shown).not.toContain(ID);
});

test("parseCapturedRequest names the line of an invalid header", () => {
  expect(() => parseCapturedRequest("POST / HTTP/1.1\nHost: a\noops\n\n")).toThrow(/^line 3 /);
});

test("parseCapturedRequest reads the method and the headers of CGI variables under HTTP's names", () => {
  const { method, headers, receivedAt } = parseCapturedRequest(
    `${[...CGI, "REQUEST_TIME=1760000000", "CONTENT_LENGTH=2", "HTTP_CONTENT_LENGTH=3"].join("\n")}\n\n{}`,
  );
  expect(method).toBe("POST");
  expect(headers).toEqual({
    "Content-Type": "application/json",
    ...Object.fromEntries(Object.entries(HEADERS).filter(([name]) => name.startsWith("X-"))),
    "Content-Length": "2",
  });
  expect(receivedAt).toEqual(new Date(1_760_000_000_000));
});

test("parseCapturedRequest reads the method of a curl command, and its data in the quotes of a shell", () => {
  const read = (options: string) => {
    const { method, body } = parseCapturedRequest(`curl -H 'x-webhook-id: b' ${options}`);
    return [method, Buffer.from(body).toString()];
  };
  expect(read("-X PUT --data-binary 'a'")).toEqual(["PUT", "a"]);
  expect(read("--data-raw '@a' --request PATCH")).toEqual(["PATCH", "@a"]);
  expect(read("--data-raw $'\\n\\u00e5\\ud83d\\ude00\\''")).toEqual([undefined, "\nå😀'"]);
  expect(read(`--data-raw '^"x^"'`)).toEqual([undefined, '^"x^"']);
});

test("parseCapturedRequest keeps bytes of a curl command that are not UTF-8", () => {
  const head = Buffer.from("curl -H 'x-webhook-id: b' --data-binary '");
  const capture = Buffer.concat([head, Buffer.of(0xe5, 0x00, 0xff), Buffer.from("'")]);
  expect([...parseCapturedRequest(capture).body]).toEqual([0xe5, 0x00, 0xff]);
});

const LOGGED = { ...LOWER, "content-length": String(BYTES) };

/** Logs without the raw body. */
const LOGS = {
  "a line of pino": JSON.stringify({ level: 30, req: { id: 1, method: "POST", headers: LOGGED } }),
  "the headers in JSON": JSON.stringify(LOGGED),
  "a line of winston": JSON.stringify({ message: "webhook", ...LOGGED }),
  "text before JSON": `info: webhook ${JSON.stringify(LOGGED)}\n`,
  "console.log": inspect(LOGGED),
  "HAR without postData": JSON.stringify({ request: { method: "POST", headers: LOGGED } }),
  "a parsed body": JSON.stringify({
    req: { headers: LOGGED, body: JSON.parse(ALARM_BODY) as unknown },
  }),
};

test.each(Object.entries(LOGS))(
  "a log without the raw body is refused with where to get it, or read with the body apart: %s",
  async (_, log) => {
    expect(() => parseCapturedRequest(log)).toThrow(
      /body.*; if no log has it, lead deliveries through `identity-gateway-webhooks listen/,
    );
    const request = parseCapturedRequest(log, Buffer.from(ALARM_BODY));
    const { findings } = await diagnoseSignature({ ...request, now: NOW_MS, secret: SECRET });
    expect(findings.map(({ code }) => code)).toEqual([]);
  },
);

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
    {
      numRuns: 1_000,
      examples: [
        [Uint8Array.of(0x5d), false],
        [Uint8Array.of(0x60), true],
      ],
    },
  );
});

test("parseCapturedRequest reads any text as a request or refuses it with a CaptureError, in linear time", () => {
  const part = fc.constantFrom(
    ..."{}[]()'\"`\\,:=>\n ".split(""),
    "x-webhook-id",
    "X-Webhook-Id: a",
    "Array",
    "curl ",
    '-Body "',
    "$([char]229)",
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

test("a chunked body is read with LF, extensions and trailers", () => {
  const whole = Buffer.from("3\nabc\n2;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\n");
  expect(Buffer.from(readChunks(whole) ?? []).toString()).toBe("abcde");
});

test.each([
  ...["", "abc", "3\r\nab", "3\r\nabc", "3\r\nabcde\r\n", "x\r\n", "3\r\nabc\r\n"],
  `${"0".repeat(200)}\n`,
])("%j is not a chunked body", (text) => {
  expect(readChunks(Buffer.from(text))).toBeUndefined();
});

test("an event without a body is diagnosed by its headers", async () => {
  const event = JSON.stringify({ headers: HEADERS, body: null });
  expect(await codesOf({}, parseCapturedRequest(event))).toEqual(["body_empty", "unexplained"]);
});
