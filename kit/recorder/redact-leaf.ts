import type { DistinctPlaceholders } from "./distinct-placeholders.js";
import { placeholderOfNumber } from "./placeholder-number.js";
import {
  encodeLike,
  isGatewayTime,
  placeholderOfEnum,
  placeholderOfForm,
  placeholderOfJsonText,
} from "./placeholder-text.js";
import { fieldRuleOf, keepsValue, type Place } from "./redaction-rules.js";

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
