import { isJson, jsonParts, textOfUtf8, type JsonPart } from "../json-parts.js";
import { DistinctPlaceholders } from "./distinct-placeholders.js";
import {
  encodeLike,
  isGatewayTime,
  placeholderOfEnum,
  placeholderOfForm,
  placeholderOfJsonText,
  placeholderOfNumber,
  placeholderOfText,
} from "./placeholders.js";
import { elementOf, fieldRuleOf, keepsValue, memberOf, type Place } from "./redaction-rules.js";

const encoder = new TextEncoder();
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * The body with only allowed content. The receiver still reads it the same way: a body that is not JSON or not
 * UTF-8 becomes as many bytes of the same kind. `made`: the placeholders that other bodies already have. `text`: that
 * of the bytes, undefined if they are not UTF-8. `dropped`: how many keys and elements were.
 */
export function redactBody(body: Uint8Array, root: Place, made = new DistinctPlaceholders()) {
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

/** Maximum number of elements that a list keeps. */
const MAX_ELEMENTS = 1_000;

/**
 * Redacts JSON as text. White space, escapes in values, the order of keys and repeated keys stay, since such details
 * are a reason to record a delivery. `JSON.parse` would lose them, and would treat a `__proto__` key specially. `text`
 * must be JSON. `made`: the placeholders that other texts already have.
 */
function redactJson(text: string, root: Place, made: DistinctPlaceholders) {
  const out: string[] = [];
  /** The place of the current value, by depth. */
  const places: Place[] = [root];
  let behind = 0;
  let dropped = 0;
  /** Depth of the elements of which no more stay. */
  let dropping: number | undefined;

  for (const part of jsonParts(text)) {
    const { kind, role, depth, index } = part;
    if (kind === "," && part.isInList && index >= MAX_ELEMENTS) dropping ??= depth;
    if (kind === "]" && depth + 1 === dropping) dropping = undefined;
    if (dropping !== undefined) {
      if (role === "element" && depth === dropping) dropped += 1;
      behind = part.end;
      continue;
    }
    if (role === "element") places[depth] = elementOf(places[depth - 1] ?? [], index);
    out.push(text.slice(behind, part.start));
    behind = part.end;
    if (role === "key") {
      const key = JSON.parse(part.text) as string;
      const place = (places[depth] = memberOf(places[depth - 1] ?? [], key));
      out.push(place.length === 0 ? `"${made.ofKey(key)}"` : part.text);
    } else if (kind === "string" || kind === "scalar") {
      const value = redactValue(part, places[depth] ?? [], made);
      out.push(value.text);
      dropped += value.dropped;
    } else out.push(part.text);
  }
  out.push(text.slice(behind));
  return { text: out.join(""), dropped };
}

function redactValue({ kind, text: json }: JsonPart, place: Place, made: DistinctPlaceholders) {
  if (kind !== "string" || fieldRuleOf(place) !== "payload") {
    return { text: redactLeaf(json, place, made), dropped: 0 };
  }
  const text = JSON.parse(json) as string;
  if (!isJson(text)) {
    const isKept = keepsValue(place) || text.trim() === "";
    return { text: isKept ? json : encodeLike(json, placeholderOfText(text)), dropped: 0 };
  }
  // The payload's rule does not apply inside it: JSON in a text of the payload is only a text.
  const inside = place.map((rule) => ({ ...rule, field: undefined }));
  const redacted = redactJson(text, inside, made);
  return { ...redacted, text: encodeLike(json, redacted.text) };
}

/**
 * Redacts the JSON of a text, number, boolean or null. `null` stays. A boolean becomes `false`, because its value may
 * tell something about a person.
 */
export function redactLeaf(json: string, place: Place, made: DistinctPlaceholders): string {
  if (json === "null" || keepsValue(place)) return json;
  const rule = fieldRuleOf(place);
  if (json.startsWith('"')) return redactText(json, rule, made);
  if (json === "true" || json === "false") return "false";
  if (rule instanceof Set && rule.has(json)) return json;
  return made.of(json, placeholderOfNumber(json));
}

function redactText(
  json: string,
  rule: ReturnType<typeof fieldRuleOf>,
  made: DistinctPlaceholders,
): string {
  const text = JSON.parse(json) as string;
  if (text.trim() === "") return json;
  if (rule === "date" && isGatewayTime(text)) return json;
  if (rule instanceof Set && rule.has(text)) return json;
  const form = placeholderOfForm(text);
  if (form !== undefined) return encodeLike(json, made.of(text, form));
  if (rule instanceof Set) return encodeLike(json, made.of(text, placeholderOfEnum(text)));
  return `"${made.of(text, placeholderOfJsonText(json.slice(1, -1)))}"`;
}
