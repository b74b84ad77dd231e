import { CaptureError, type CapturedRequest, type FoundRequest } from "./captured-request.js";
import { isCgiDump, parseCgiDump } from "./cgi-capture.js";
import { isCurlCommand, parseCurlCommand } from "./curl-command.js";
import { parseHttpCapture } from "./http-capture.js";
import { isInsomniaYaml } from "./insomnia-yaml.js";
import { parseJsonCapture } from "./json-capture.js";
import { parsePrintedCapture } from "./printed-capture.js";

/**
 * Reads a captured request. Accepts HTTP/1.1 as sent over a socket (with or without the request line, with LF
 * or CRLF), the output of `curl -v` followed by the body, a `curl` command, a fixture file, a HAR file or one
 * of its entries, an AWS API Gateway event, a request or a list of requests of the APIs of ngrok and
 * webhook.site, and CGI variables (lines of `HTTP_X_WEBHOOK_ID=…` or PHP's `$_SERVER` printed, a blank line and the
 * body; or their JSON), a line of a log in JSON, an export of Postman or Insomnia (4 in JSON, 5 in YAML), an event of
 * Pipedream or Azure, and headers as Node, PHP, Python or PowerShell print them, followed by the body. The body is
 * kept byte for byte; only chunked Transfer-Encoding, base64 and shell quotes are undone, if the capture has them. At
 * most 1 000 header lines are read. Pass bytes if you have them: a body does not have to be UTF-8.
 *
 * @param body The exact body, for a capture that may have nothing but the headers. Default: that of the capture.
 * @throws CaptureError if the text is none of these, or has no body.
 * @experimental
 */
export function parseCapturedRequest(
  capture: Uint8Array | string,
  body?: Uint8Array,
): CapturedRequest {
  const request = findRequest(capture);
  const own = (): Uint8Array =>
    typeof request.body === "function" ? request.body() : request.body;
  return { ...request, body: body ?? own() };
}

function findRequest(capture: Uint8Array | string): FoundRequest {
  const bytes = inUtf8(typeof capture === "string" ? Buffer.from(capture, "utf8") : capture);
  const first = bytes.find((byte) => byte > SPACE);
  if (first === undefined) throw new CaptureError("empty_capture", "the capture is empty");
  if (isCgiDump(bytes)) return parseCgiDump(bytes);
  if (isCurlCommand(bytes)) return parseCurlCommand(bytes);
  const isJson =
    first === BRACE ||
    first === BRACKET ||
    isInsomniaYaml(bytes.subarray(0, 100).toString("latin1"));
  try {
    return isJson ? parseJsonCapture(bytes) : parseHttpCapture(bytes);
  } catch (error) {
    const isUnknown = error instanceof CaptureError && NOT_OF_FORM.includes(error.code);
    const printed = isUnknown ? parsePrintedCapture(bytes) : undefined;
    if (printed === undefined) throw error;
    return printed;
  }
}

/** The text is neither JSON nor HTTP, or its JSON holds nothing but headers. */
const NOT_OF_FORM: readonly string[] = [
  "invalid_json",
  "invalid_header_line",
  "missing_headers",
  "missing_blank_line",
];

const SPACE = 0x20;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** The capture without the file's byte order mark. Converts UTF-16, which PowerShell writes. */
function inUtf8(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [first, second, third] = buffer;
  if (first === 0xef && second === 0xbb && third === 0xbf) return buffer.subarray(3);
  const isBig = first === 0xfe && second === 0xff;
  const isLittle = first === 0xff && second === 0xfe;
  if (!isBig && !isLittle) return buffer;
  const pairs = buffer.subarray(2, buffer.length - (buffer.length % 2));
  const little = isBig ? Buffer.from(pairs).swap16() : pairs;
  return Buffer.from(little.toString("utf16le"), "utf8");
}
