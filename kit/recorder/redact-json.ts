import { isJson, jsonParts, type JsonPart } from "../json-parts.js";
import { DistinctPlaceholders } from "./distinct-placeholders.js";
import { encodeLike, placeholderOfText } from "./placeholder-text.js";
import { redactLeaf } from "./redact-leaf.js";
import { elementOf, fieldRuleOf, keepsValue, memberOf, type Place } from "./redaction-rules.js";

/** Maximum number of elements that a list keeps. */
const MAX_ELEMENTS = 1_000;

/** Result of redacting a JSON text. */
export interface RedactedJson {
  readonly text: string;
  /** Number of unknown keys and of elements over the limit that were dropped with their values. */
  readonly dropped: number;
}

/**
 * Redacts JSON as text. White space, escapes, the order of keys and repeated keys stay, since such details are a
 * reason to record a delivery. `JSON.parse` would lose them, and would treat a `__proto__` key specially. `text`
 * must be JSON. `made`: the placeholders that other texts already have.
 */
export function redactJson(
  text: string,
  root: Place,
  made = new DistinctPlaceholders(),
): RedactedJson {
  const out: string[] = [];
  /** By depth: the place of the current value, and whether its container has kept an item. */
  const places: Place[] = [root];
  const hasKept: boolean[] = [];
  let behind = 0;
  let dropped = 0;
  /** Depth of the item that is being dropped. */
  let dropping: number | undefined;

  for (const part of jsonParts(text)) {
    const { kind, role, depth } = part;
    if (dropping === undefined && (role === "key" || role === "element")) {
      const place = placeOfItem(part, places[depth - 1] ?? []);
      places[depth] = place;
      if (role === "key" ? place.length === 0 : part.index >= MAX_ELEMENTS) {
        dropping = depth;
        dropped += 1;
      } else {
        if (hasKept[depth] === true) out.push(",");
        hasKept[depth] = true;
      }
    }
    if (dropping !== undefined) {
      const isEnd = role !== "key" && !["{", "[", ":", ","].includes(kind);
      if (isEnd && depth === dropping) {
        behind = part.end;
        dropping = undefined;
      }
      continue;
    }
    if (kind === "{" || kind === "[") hasKept[depth + 1] = false;
    const isLeaf = role !== "key" && (kind === "string" || kind === "scalar");
    const leaf = isLeaf ? redactValue(part, places[depth] ?? [], made) : undefined;
    dropped += leaf?.dropped ?? 0;
    // A comma is written before the next item that stays.
    out.push(text.slice(behind, part.start), kind === "," ? "" : (leaf?.text ?? part.text));
    behind = part.end;
  }
  out.push(text.slice(behind));
  return { text: out.join(""), dropped };
}

function placeOfItem({ role, text, index }: JsonPart, container: Place): Place {
  return role === "key"
    ? memberOf(container, JSON.parse(text) as string)
    : elementOf(container, index);
}

function redactValue(
  { kind, text: json }: JsonPart,
  place: Place,
  made: DistinctPlaceholders,
): RedactedJson {
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
