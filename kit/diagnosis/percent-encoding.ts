/** The text without percent-encoding, with + as a space and as itself. Empty for a broken encoding. */
export function percentDecoded(text: string): readonly string[] {
  try {
    return [decodeURIComponent(text.replaceAll("+", " ")), decodeURIComponent(text)];
  } catch {
    return [];
  }
}

/** The percent-encoded text; undefined for a lone surrogate, which cannot be encoded. */
export function percentEncoded(text: string): string | undefined {
  try {
    return encodeURIComponent(text);
  } catch {
    return undefined;
  }
}
