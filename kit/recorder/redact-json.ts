import { createJsonReader, type JsonToken, encodeLike, isJson } from "./json-text.js";
import { placeholderOfText } from "./placeholder-text.js";
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

/** An object or a list that is still open. */
interface Container {
  readonly place: Place;
  readonly isList: boolean;
  /** Number of members or elements that were read, and that were kept. */
  met: number;
  kept: number;
  /** The place of the next value, once its key is known. */
  value: Place | undefined;
}

/**
 * Redacts JSON as text. White space, escapes, the order of keys and repeated keys stay, since such details are a
 * reason to record a delivery. `JSON.parse` would lose them, and would treat a `__proto__` key specially. `text`
 * must be JSON.
 */
export function redactJson(text: string, root: Place): RedactedJson {
  const out: string[] = [];
  const open: Container[] = [];
  const reader = createJsonReader(text);
  let behind = 0;
  let dropped = 0;

  const write = (token: JsonToken, written: string): void => {
    out.push(text.slice(behind, token.start), written);
    behind = token.end;
  };

  const writeValue = (token: JsonToken, place: Place): void => {
    const json = text.slice(token.start, token.end);
    if (token.kind === "{" || token.kind === "[") {
      open.push({ place, isList: token.kind === "[", met: 0, kept: 0, value: undefined });
      write(token, json);
      return;
    }
    const payload = token.kind === "string" ? redactPayload(json, place) : undefined;
    dropped += payload?.dropped ?? 0;
    write(token, payload?.text ?? redactLeaf(json, place));
  };

  const drop = (first: JsonToken | undefined): void => {
    behind = reader.skipRest(first);
    dropped += 1;
  };

  const writeComma = (container: Container): void => {
    if (container.kept > 0) out.push(",");
    container.kept += 1;
  };

  const writeElement = (token: JsonToken, list: Container): void => {
    const index = list.met++;
    if (index >= MAX_ELEMENTS) {
      drop(token);
      return;
    }
    writeComma(list);
    writeValue(token, elementOf(list.place, index));
  };

  const writeKey = (token: JsonToken, object: Container): void => {
    const json = text.slice(token.start, token.end);
    const place = memberOf(object.place, JSON.parse(json) as string);
    if (place.length === 0) {
      reader.next(); // the colon
      drop(reader.next());
      return;
    }
    writeComma(object);
    write(token, json);
    object.value = place;
  };

  for (let token = reader.next(); token !== undefined; token = reader.next()) {
    const container = open.at(-1);
    if (token.kind === ",") {
      // Written before the next element that stays.
      write(token, "");
    } else if (token.kind === ":") {
      write(token, ":");
    } else if (token.kind === "}" || token.kind === "]") {
      open.pop();
      write(token, token.kind);
    } else if (container === undefined) {
      writeValue(token, root);
    } else if (container.isList) {
      writeElement(token, container);
    } else if (container.value === undefined) {
      writeKey(token, container);
    } else {
      const place = container.value;
      container.value = undefined;
      writeValue(token, place);
    }
  }
  out.push(text.slice(behind));
  return { text: out.join(""), dropped };
}

/** A payload with its JSON redacted; undefined for the text of another field. */
function redactPayload(json: string, place: Place): RedactedJson | undefined {
  if (fieldRuleOf(place) !== "payload") return undefined;
  const text = JSON.parse(json) as string;
  if (!isJson(text)) {
    const isKept = keepsValue(place) || text.trim() === "";
    return { text: isKept ? json : encodeLike(json, placeholderOfText(text)), dropped: 0 };
  }
  // The payload's rule does not apply inside it: JSON in a text of the payload is only a text.
  const inside = place.map((node) => ({ ...node, field: undefined }));
  const { text: redacted, dropped } = redactJson(text, inside);
  return { text: encodeLike(json, redacted), dropped };
}
