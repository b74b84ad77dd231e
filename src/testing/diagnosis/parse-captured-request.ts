import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { parseHttpCapture } from "./http-capture.js";
import { parseJsonCapture } from "./json-capture.js";

/**
 * Reads a captured request: HTTP/1.1 as it goes over a socket (with or without the request line, line
 * ends of either kind), what `curl -v` prints, with the body behind it, a fixture file, an entry or a
 * whole file of HAR, or an event of AWS API Gateway. The body is kept byte for byte; only chunks of
 * Transfer-Encoding and base64 are undone, where the capture names them. Of the header lines the first
 * 1 000 are read. Bytes are better than a string, as a body need not be UTF-8.
 *
 * @throws CaptureError for a text that is none of these.
 */
export function parseCapturedRequest(capture: Uint8Array | string): CapturedRequest {
  const bytes = inUtf8(typeof capture === "string" ? Buffer.from(capture, "utf8") : capture);
  const first = bytes.find((byte) => byte > SPACE);
  if (first === undefined) throw new CaptureError("empty_capture", "the capture is empty");
  return first === BRACE || first === BRACKET ? parseJsonCapture(bytes) : parseHttpCapture(bytes);
}

const SPACE = 0x20;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** Without a byte order mark of the file, which is not the body's; UTF-16 of PowerShell is undone. */
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
