/** The value of a JSON text; if it is none, the text. */
export function jsonOf(content: Uint8Array | string): unknown {
  const text = typeof content === "string" ? content : new TextDecoder().decode(content);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
