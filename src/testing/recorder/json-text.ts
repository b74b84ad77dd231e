/** Writes `text` as a JSON string in the style of `raw`, another JSON string: PHP escapes `/` and non-ASCII. */
export function encodeLike(raw: string, text: string): string {
  const json = JSON.stringify(text);
  const slashed = raw.includes("\\/") ? json.replaceAll("/", "\\/") : json;
  // Escapes below U+0080 do not show the style: JSON requires them for control characters.
  return /\\u(?!00[0-7])/.test(raw) ? slashed.replace(/[^\0-\x7f]/g, escapeOf) : slashed;
}

/** The `\u` escape of one UTF-16 unit. */
export function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Whether `JSON.parse` accepts the text. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
