import { gzipSync, deflateSync, brotliCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ALARM_BODY, codesOf, diagnose } from "./diagnosis-capture.js";

const BYTES = Buffer.from(ALARM_BODY);
const WITH_LINES = '{\n  "alarm": {\n    "id": 1\n  }\n}';
const LATIN = '{"alarm":{"text":"Ångström på Ærø"}}';

interface Broken {
  readonly what: string;
  readonly code: string;
  readonly captured: unknown;
  readonly signed?: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

const BROKEN: readonly Broken[] = [
  { what: "LF added", code: "body_trailing_newline", captured: `${ALARM_BODY}\n` },
  { what: "CRLF added", code: "body_trailing_newline", captured: `${ALARM_BODY}\r\n` },
  {
    what: "LF lost",
    code: "body_trailing_newline",
    captured: ALARM_BODY,
    signed: `${ALARM_BODY}\n`,
  },
  { what: "blanks added", code: "body_whitespace", captured: ` ${ALARM_BODY} \t` },
  { what: "a byte order mark added", code: "body_bom", captured: `\uFEFF${ALARM_BODY}` },
  { what: "a byte order mark and LF added", code: "body_bom", captured: `\uFEFF${ALARM_BODY}\n` },
  {
    what: "a byte order mark lost",
    code: "body_bom",
    captured: ALARM_BODY,
    signed: `\uFEFF${ALARM_BODY}`,
  },
  {
    what: "LF changed to CRLF",
    code: "body_line_ends",
    captured: WITH_LINES.replaceAll("\n", "\r\n"),
    signed: WITH_LINES,
  },
  {
    what: "CRLF changed to LF",
    code: "body_line_ends",
    captured: WITH_LINES,
    signed: WITH_LINES.replaceAll("\n", "\r\n"),
  },
  {
    what: "wrapped into lines by a mailer",
    code: "body_line_ends",
    captured: ALARM_BODY.replace(/(.{76})/g, "$1\r\n"),
  },
  {
    what: "followed by bytes of the next request",
    code: "body_extra_bytes",
    captured: `${ALARM_BODY}POST / HTTP/1.1`,
    headers: { "Content-Length": String(BYTES.length) },
  },
  {
    what: "signed before there was a body",
    code: "body_signed_empty",
    captured: ALARM_BODY,
    signed: "",
  },
  {
    what: "UTF-16 with a mark",
    code: "body_utf16",
    captured: Buffer.from(`\uFEFF${ALARM_BODY}`, "utf16le"),
  },
  {
    what: "UTF-16 of PowerShell with a newline",
    code: "body_utf16",
    captured: Buffer.from(`\uFEFF${ALARM_BODY}\r\n`, "utf16le"),
  },
  {
    what: "UTF-16 with a newline of one character",
    code: "body_utf16",
    captured: Buffer.from(`${ALARM_BODY}\n`, "utf16le"),
  },
  {
    what: "big-endian UTF-16 with a mark",
    code: "body_utf16",
    captured: Buffer.from(`\uFEFF${ALARM_BODY}`, "utf16le").swap16(),
  },
  {
    what: "big-endian UTF-16",
    code: "body_utf16",
    captured: Buffer.from(ALARM_BODY, "utf16le").swap16(),
  },
  {
    what: "encoded to UTF-8 twice",
    code: "body_charset",
    captured: Buffer.from(BYTES.toString("latin1"), "utf8"),
  },
  {
    what: "encoded twice through Windows-1252",
    code: "body_charset",
    captured: Buffer.from(new TextDecoder("windows-1252").decode(BYTES), "utf8"),
  },
  {
    what: "captured in Latin-1",
    code: "body_charset",
    captured: Buffer.from(LATIN, "latin1"),
    signed: LATIN,
  },
  {
    what: "signed in Latin-1",
    code: "body_charset",
    captured: LATIN,
    signed: Buffer.from(LATIN, "latin1"),
  },
  {
    what: "normalised",
    code: "body_normalised",
    captured: ALARM_BODY.normalize("NFD"),
    signed: ALARM_BODY.normalize("NFC"),
  },
  {
    what: "percent-encoded",
    code: "body_percent_encoded",
    captured: encodeURIComponent(ALARM_BODY),
  },
  {
    what: "a form's key",
    code: "body_percent_encoded",
    captured: new URLSearchParams([[ALARM_BODY, ""]]).toString(),
  },
  {
    what: "a form's field",
    code: "body_form_encoded",
    captured: new URLSearchParams({ payload: ALARM_BODY }).toString(),
  },
  {
    what: "a form parser's object",
    code: "body_form_encoded",
    captured: JSON.stringify({ [ALARM_BODY]: "" }),
  },
  { what: "base64", code: "body_base64", captured: BYTES.toString("base64") },
  {
    what: "base64 in lines",
    code: "body_base64",
    captured: `${BYTES.toString("base64").replace(/(.{76})/g, "$1\n")}\n`,
  },
  {
    what: "base64 in a JSON string",
    code: "body_base64",
    captured: JSON.stringify(BYTES.toString("base64")),
  },
  { what: "hexadecimal", code: "body_hex", captured: BYTES.toString("hex") },
  { what: "a Buffer in JSON", code: "body_bytes_listed", captured: JSON.stringify(BYTES) },
  {
    what: "a Uint8Array in JSON",
    code: "body_bytes_listed",
    captured: JSON.stringify(new Uint8Array(BYTES)),
  },
  {
    what: "a Uint8Array as text",
    code: "body_bytes_listed",
    captured: String(new Uint8Array(BYTES)),
  },
  { what: "a JSON string", code: "body_quoted", captured: JSON.stringify(ALARM_BODY) },
  {
    what: "a log's escapes",
    code: "body_quoted",
    captured: JSON.stringify(ALARM_BODY).slice(1, -1),
  },
  { what: "a shell's quotes", code: "body_quoted", captured: `'${ALARM_BODY}'` },
  {
    what: "bytes as Python prints them",
    code: "body_quoted",
    captured: 'b\'{"alarm":"\\xc3\\xa5\\\\n"}\'',
    signed: '{"alarm":"å\\n"}',
  },
  {
    what: "a quote as Python escapes it",
    code: "body_quoted",
    captured: 'b\'{"alarm":"it\\\'s"}\'',
    signed: '{"alarm":"it\'s"}',
  },
  {
    what: "HTML entities in addition to a signed one",
    code: "body_html_escaped",
    captured: "{&quot;alarm&quot;:&quot;a&nbsp;&lt;b&gt;&quot;}",
    signed: '{"alarm":"a&nbsp;<b>"}',
  },
  {
    what: "HTML entities",
    code: "body_html_escaped",
    captured: ALARM_BODY.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  },
  {
    what: "an event of a function",
    code: "body_enveloped",
    captured: JSON.stringify({ version: "2.0", body: ALARM_BODY, isBase64Encoded: false }),
  },
  {
    what: "an event of a function in base64",
    code: "body_enveloped",
    captured: JSON.stringify({ body: BYTES.toString("base64"), isBase64Encoded: true }),
  },
  {
    what: "the record without its wrapper",
    code: "body_unwrapped",
    captured: ALARM_BODY.slice('{"alarm":'.length, -1),
  },
  { what: "gzip", code: "body_compressed", captured: gzipSync(BYTES) },
  { what: "deflate", code: "body_compressed", captured: deflateSync(BYTES) },
  {
    what: "brotli",
    code: "body_compressed",
    captured: brotliCompressSync(BYTES),
    headers: { "Content-Encoding": "br" },
  },
  {
    what: "chunks",
    code: "body_chunked",
    captured: `8\r\n${ALARM_BODY.slice(0, 8)}\r\n${(BYTES.length - 8).toString(16)};x=y\r\n${ALARM_BODY.slice(8)}\r\n0\r\n\r\n`,
  },
];

describe("changed bodies", () => {
  test.each(BROKEN)(
    "diagnoseSignature finds the change of the body: $what",
    async ({ code, captured, signed = ALARM_BODY, headers = {} }) => {
      const { result, findings, secretIndex } = await diagnose(
        { body: signed },
        { body: captured, change: headers },
      );
      expect(result).toBe("bad");
      expect(findings).toMatchObject([{ code, certainty: "proven" }]);
      expect(secretIndex).toBe(0);
    },
  );

  test("diagnoseSignature reports where the captured and the signed body first differ, and their sizes", async () => {
    const { findings } = await diagnose({}, { body: `${ALARM_BODY}\r\n` });
    expect(findings[0]).toMatchObject({
      offsetBytes: BYTES.length,
      capturedBytes: BYTES.length + 2,
      expectedBytes: BYTES.length,
    });
  });

  test("diagnoseSignature finds a changed body and a wrong secret together", async () => {
    const secret = "whsec_of_its_own";
    const codes = await codesOf({ secret }, { secret: `${secret}\n`, body: `${ALARM_BODY}\n` });
    expect(codes).toEqual(["secret_whitespace", "body_trailing_newline"]);
  });
});
