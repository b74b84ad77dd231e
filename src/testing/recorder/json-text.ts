/** Writes text as JSON in the manner of `raw`, a JSON string: PHP escapes `/` and all but ASCII. */
export function encodeLike(raw: string, text: string): string {
  const json = JSON.stringify(text);
  const slashed = raw.includes("\\/") ? json.replaceAll("/", "\\/") : json;
  // Below U+0080 an escape says nothing of the manner: control characters have to be escaped.
  return /\\u(?!00[0-7])/.test(raw) ? slashed.replace(/[^\0-\x7f]/g, escapeOf) : slashed;
}

/** The `\u` escape of one UTF-16 unit. */
export function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Whether `JSON.parse` takes a text. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
