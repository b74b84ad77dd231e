import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, captured, ID, NOW_MS, SECRET, TEST_SECRET } from "./diagnosis-capture.js";

const HEADERS = captured().headers as Record<string, string>;
const LINES = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`);

async function resultOf(capture: string | Uint8Array, now?: number): Promise<string> {
  const request = parseCapturedRequest(capture);
  const at = now === undefined ? {} : { now };
  return (await diagnoseSignature({ ...request, ...at, secret: SECRET })).result;
}

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

function curlCommand(quote: (text: string) => string): string {
  const headers = LINES.map((line) => `  -H ${quote(line)}`);
  const words = ["curl 'https://a.example/hook'", ...headers, `  --data-raw ${quote(ALARM_BODY)}`];
  return `${words.join(" \\\n")} \\\n  --compressed`;
}

function shellQuoted(text: string): string {
  return text.replaceAll("'", `'\\''`);
}

function escapedAnsi(character: string): string {
  const unit = character.charCodeAt(0);
  return unit < 128 ? `\\${character}` : `\\u${unit.toString(16).padStart(4, "0")}`;
}

function ngrokRequest() {
  const raw = ["POST /hook HTTP/1.1", "Host: a.example", ...LINES, "", ALARM_BODY].join("\r\n");
  return {
    id: "air_1",
    start: "2025-10-09T10:53:20+02:00",
    request: { method: "POST", headers: lists(HEADERS), raw: Buffer.from(raw).toString("base64") },
    response: { status: "409 Conflict" },
  };
}

function webhookSiteRequest() {
  return {
    uuid: ID,
    method: "POST",
    headers: lists(HEADERS),
    content: ALARM_BODY,
    created_at: "2025-10-09 08:53:20",
  };
}

function lists(headers: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]),
  );
}

/** The same delivery in every supported form, byte for byte. */
const CAPTURES: readonly [what: string, capture: string | Uint8Array][] = [
  ["HTTP with CRLF", ["POST /hook HTTP/1.1", ...LINES, "", ALARM_BODY].join("\r\n")],
  ["HTTP with LF", ["POST /hook HTTP/1.1", ...LINES, "", ALARM_BODY].join("\n")],
  ["headers without a request line", [...LINES, "", ALARM_BODY].join("\n")],
  ["blank lines before it", `\r\n\n${[...LINES, "", ALARM_BODY].join("\n")}`],
  ["HTTP/2 as tools print it", [":method: POST", ":path: /", ...LINES, "", ALARM_BODY].join("\n")],
  ["a mark before it", `\uFEFF${[...LINES, "", ALARM_BODY].join("\n")}`],
  [
    "UTF-16 of PowerShell",
    Buffer.from(`\uFEFF${[...LINES, "", ALARM_BODY].join("\r\n")}`, "utf16le"),
  ],
  ["a folded line", [...LINES, "Via: one,", "\ttwo", "", ALARM_BODY].join("\n")],
  [
    "curl -v",
    [
      "*   Trying 127.0.0.1:3000...",
      "* Connected to 127.0.0.1 (127.0.0.1) port 3000",
      "> POST /hook HTTP/1.1",
      "> Host: 127.0.0.1:3000",
      ...LINES.map((line) => `> ${line}`),
      "> ",
      "} [340 bytes data]",
      ALARM_BODY,
      "* upload completely sent off: 340 bytes",
      "< HTTP/1.1 409 Conflict",
      "< ",
    ].join("\n"),
  ],
  [
    "curl -v followed by the body",
    ["> POST / HTTP/1.1", ...LINES.map((line) => `> ${line}`), ">", ALARM_BODY].join("\r\n"),
  ],
  [
    "curl -v without a line between head and body",
    ["> POST / HTTP/1.1", ...LINES.map((line) => `> ${line}`), ALARM_BODY, "* done"].join("\n"),
  ],
  [
    "chunks",
    [
      ...LINES,
      "Transfer-Encoding: chunked",
      "",
      Buffer.byteLength(ALARM_BODY).toString(16),
      ALARM_BODY,
      "0",
      "",
      "",
    ].join("\r\n"),
  ],
  ["a fixture", JSON.stringify({ description: "x", headers: HEADERS, body: ALARM_BODY })],
  [
    "a fixture in base64",
    JSON.stringify({ headers: HEADERS, bodyBase64: Buffer.from(ALARM_BODY).toString("base64") }),
  ],
  [
    "an event of API Gateway",
    JSON.stringify({ headers: HEADERS, body: ALARM_BODY, isBase64Encoded: false }),
  ],
  [
    "one in base64, with values in lists",
    JSON.stringify({
      multiValueHeaders: Object.fromEntries(Object.entries(HEADERS).map(([n, v]) => [n, [v]])),
      headers: HEADERS,
      body: Buffer.from(ALARM_BODY).toString("base64"),
      isBase64Encoded: true,
    }),
  ],
  [
    "HAR",
    JSON.stringify(
      { log: { entries: [{ request: { headers: [], method: "GET" } }, harEntry()] } },
      null,
      2,
    ),
  ],
  ["an entry of HAR", JSON.stringify(harEntry())],
  ["a curl command", curlCommand((text) => `'${text.replaceAll("'", `'\\''`)}'`)],
  [
    "a curl command in double quotes, on one line",
    curlCommand((text) => `"${text.replace(/[\\"$`]/g, "\\$&")}"`).replaceAll(" \\\n ", ""),
  ],
  [
    "a curl command as Chrome copies it",
    curlCommand((text) => `$'${text.replace(/[^ -~]|['\\]/g, escapedAnsi)}'`),
  ],
  [
    "a curl command with -d and joined options",
    `$ curl -sS -XPOST ${LINES.map((line) => `-H'${line}'`).join(" ")} -d '${shellQuoted(ALARM_BODY)}' https://a.example/hook; echo done`,
  ],
  ["a request of ngrok", JSON.stringify(ngrokRequest())],
  [
    "ngrok's list of requests",
    JSON.stringify({
      uri: "/api/requests/http",
      requests: [{ request: { headers: {}, raw: "R0VUIC8=" } }, ngrokRequest()],
    }),
  ],
  ["a request of webhook.site", JSON.stringify(webhookSiteRequest())],
  [
    "webhook.site's list of requests",
    JSON.stringify({ data: [{ headers: {} }, webhookSiteRequest()], total: 2 }),
  ],
  ["the environment of a CGI program", [...CGI, "", ALARM_BODY].join("\n")],
  ["the environment of a CGI program with CRLF", [...CGI, "", ALARM_BODY].join("\r\n")],
  [
    "exported variables",
    [...CGI.map((line) => `declare -x ${line.replace("=", '="')}"`), "", ALARM_BODY].join("\n"),
  ],
  [
    "$_SERVER by PHP's print_r",
    [
      "Array",
      "(",
      ...CGI.map((line) => `    [${line.replace("=", "] => ")}`),
      ")",
      "",
      ALARM_BODY,
    ].join("\n"),
  ],
  [
    "$_SERVER by PHP's var_export",
    [
      "array (",
      ...CGI.map((line) => `  '${line.replace("=", "' => '")}',`),
      ")",
      "",
      ALARM_BODY,
    ].join("\n"),
  ],
  [
    "$_SERVER in JSON with the body",
    JSON.stringify({
      ...Object.fromEntries(CGI.map((line) => line.split(/=(.*)/s, 2))),
      body: ALARM_BODY,
    }),
  ],
];

function harEntry() {
  return {
    startedDateTime: new Date(NOW_MS).toISOString(),
    request: {
      method: "POST",
      headers: Object.entries(HEADERS).map(([name, value]) => ({ name, value })),
      postData: { mimeType: "application/json", text: ALARM_BODY },
    },
  };
}

describe("parseCapturedRequest", () => {
  test.each(CAPTURES)(
    "parseCapturedRequest reads the same delivery from %s",
    async (_, capture) => {
      expect(Buffer.from(parseCapturedRequest(capture).body).toString()).toBe(ALARM_BODY);
      expect(await resultOf(capture, NOW_MS)).toBe("good");
    },
  );

  test("parseCapturedRequest reads the time of capture if the capture contains it", async () => {
    const event = { headers: HEADERS, body: ALARM_BODY, requestContext: { timeEpoch: NOW_MS } };
    const fixture = { headers: HEADERS, body: ALARM_BODY, receivedAt: "2025-10-09T08:53:20Z" };
    for (const capture of [event, fixture, harEntry(), ngrokRequest(), webhookSiteRequest()]) {
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
    expect(Buffer.from(parseCapturedRequest(variables).body).toString()).toBe("body");
    const command = `curl -H 'x-webhook-id: b' --data-raw '${"\\".repeat(300_000)}' ${blanks}`;
    expect(parseCapturedRequest(command).body).toHaveLength(300_000);
  });

  // Without a linear trim this takes minutes.
  test.each([" ", "\t", " \t"])(
    "parseCapturedRequest reads a long run of %j in a header value in linear time",
    { timeout: 20_000 },
    (blank) => {
      const value = `a${blank.repeat(300_000)}b`;
      const capture = `X-A: ${value}${blank.repeat(300_000)}\r\n\r\nbody`;
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

  test("diagnoseSignature gives the documented finding for the package's own fixtures", async () => {
    for (const name of ["golden-vector", "alarm-200-kb", "event-date-legacy"]) {
      const request = parseCapturedRequest(readFileSync(`fixtures/${name}.json`));
      expect(await diagnoseSignature({ ...request, secret: TEST_SECRET }), name).toMatchObject({
        result: "good",
      });
    }
    const codes = {
      "wrong-secret": "unexplained",
      stale: "timestamp_behind",
      future: "timestamp_ahead",
      unsigned: "header_missing",
      "repeated-header": "header_repeated",
      "shifted-delimiter": "header_malformed",
      "short-signature": "signature_length",
      "flipped-type-header": "type_mismatch",
      "invalid-utf-8": "body_unrecognized",
      "tampered-body": "unexplained",
    };
    for (const [name, code] of Object.entries(codes)) {
      const request = parseCapturedRequest(readFileSync(`fixtures/hostile/${name}.json`));
      const { findings } = await diagnoseSignature({ ...request, secret: TEST_SECRET });
      expect(findings[0]?.code, name).toBe(code);
    }
  });
});

describe("refused captures", () => {
  test.each([
    ["nothing", " \r\n\t", "empty_capture"],
    ["a response", `HTTP/1.1 200 OK\n${LINES.join("\n")}\n\n`, "not_a_request"],
    ["no headers", "POST / HTTP/1.1\n\nbody", "missing_headers"],
    ["no blank line", LINES.join("\n"), "missing_body"],
    ["only a body", ALARM_BODY, "missing_headers"],
    ["broken JSON", ALARM_BODY.slice(0, -1), "missing_headers"],
    ["a list", "[1]", "missing_headers"],
    ["an event without body", JSON.stringify({ headers: HEADERS }), "missing_body"],
    ["a parsed body", JSON.stringify({ headers: HEADERS, body: {} }), "invalid_body"],
    ["HAR of a page", JSON.stringify({ log: { entries: [] } }), "missing_headers"],
    ["HAR without a body", JSON.stringify({ request: { headers: HEADERS } }), "missing_body"],
    ["variables without a blank line", CGI.join("\n"), "missing_body"],
    ["variables without a header", JSON.stringify({ HTTP_: "a" }), "missing_headers"],
    ["a curl command without headers", "curl https://a.example -d {}", "missing_headers"],
    ["a curl command with a file", `curl -H 'X-Webhook-Id: ${ID}' -d @body.json`, "missing_body"],
  ])("parseCapturedRequest refuses this capture by what it lacks: %s", (_, capture, code) => {
    expect(() => parseCapturedRequest(capture)).toThrow(
      expect.objectContaining({ name: "CaptureError", code }) as Error,
    );
  });

  test("parseCapturedRequest quotes nothing of a curl command, CGI variables or JSON in its errors", () => {
    const texts = [
      `curl -H 'X-Webhook-Id: ${ID}'`,
      `curl https://a.example/${ID}`,
      `HTTP_X_WEBHOOK_ID=${ID}`,
      JSON.stringify({ data: [{ content: ID }, { content: ID }] }),
    ];
    for (const text of texts) {
      let message = "";
      try {
        parseCapturedRequest(text);
      } catch (error) {
        message = String(error);
      }
      expect(message).toMatch(/^CaptureError: /);
      expect(message).not.toContain(ID);
    }
  });

  test("parseCapturedRequest names the line of an invalid header", () => {
    expect(() => parseCapturedRequest("POST / HTTP/1.1\nHost: a\noops\n\n")).toThrow(/^line 3 /);
  });
});

describe("what captures hold", () => {
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

  test("CGI variables in JSON have no body, which is then given by itself", () => {
    const variables: unknown = Object.fromEntries(
      CGI.map((line) => line.split(/=(.*)/s, 2) as [string, string]),
    );
    const { headers, body } = parseCapturedRequest(JSON.stringify(variables), Buffer.from("a"));
    expect(headers).toMatchObject({ "X-Webhook-Id": ID });
    expect(body).toHaveLength(1);
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
});
