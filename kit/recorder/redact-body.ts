import { isJson, textOfUtf8 } from "../json-parts.js";
import type { DistinctPlaceholders } from "./distinct-placeholders.js";
import { placeholderOfText } from "./placeholder-text.js";
import { redactJson } from "./redact-json.js";
import type { Place } from "./redaction-rules.js";

/** Result of redacting a body. */
export interface RedactedBody {
  readonly bytes: Uint8Array;
  /** The text of the bytes; undefined if they are not UTF-8. */
  readonly text: string | undefined;
  /** Number of dropped keys and elements. */
  readonly dropped: number;
}

const encoder = new TextEncoder();
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * The body with only allowed content. The receiver still reads it the same way: a body that is not JSON or not
 * UTF-8 becomes as many bytes of the same kind. `made`: the placeholders that other bodies already have.
 */
export function redactBody(
  body: Uint8Array,
  root: Place,
  made?: DistinctPlaceholders,
): RedactedBody {
  const text = textOfUtf8(body);
  if (text === undefined) {
    // 0xFF never occurs in UTF-8.
    const bytes = Uint8Array.from(body, (byte) => (byte < 0x80 ? 0x78 : 0xff));
    return { bytes, text: undefined, dropped: 0 };
  }
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const content = text.slice(mark.length);
  const redacted = isJson(content)
    ? redactJson(content, root, made)
    : { text: placeholderOfText(content), dropped: 0 };
  const whole = mark + redacted.text;
  return { bytes: encoder.encode(whole), text: whole, dropped: redacted.dropped };
}
