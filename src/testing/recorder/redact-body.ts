import { isJson } from "./json-text.js";
import { placeholderOfText } from "./placeholder-text.js";
import { redactJson } from "./redact-json.js";
import type { Place } from "./redaction-rules.js";

/** What was made of a body. */
export interface RedactedBody {
  readonly bytes: Uint8Array;
  /** The text of the bytes; undefined where they are no UTF-8. */
  readonly text: string | undefined;
  /** Keys and elements that were dropped. */
  readonly dropped: number;
}

const encoder = new TextEncoder();
// As the receiver decodes, but for the byte order mark, which is to stay.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * A body of which nothing is left but what is allowed. What the receiver makes of it stays: what is no
 * JSON, or no UTF-8, becomes as many bytes that are neither.
 */
export function redactBody(body: Uint8Array, root: Place): RedactedBody {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    // 0xFF stands nowhere in UTF-8.
    const bytes = Uint8Array.from(body, (byte) => (byte < 0x80 ? 0x78 : 0xff));
    return { bytes, text: undefined, dropped: 0 };
  }
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const content = text.slice(mark.length);
  const redacted = isJson(content)
    ? redactJson(content, root)
    : { text: placeholderOfText(content), dropped: 0 };
  const whole = mark + redacted.text;
  return { bytes: encoder.encode(whole), text: whole, dropped: redacted.dropped };
}
