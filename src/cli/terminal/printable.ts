/** Control characters but the newline, and what reverses the direction of writing. */
const UNPRINTABLE =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text of a stranger (an answer, a captured request) with its control characters spelt out: an escape
 * sequence in it would otherwise be obeyed by the terminal. Newlines stay.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => {
    const code = char.charCodeAt(0);
    return code === 9 ? "  " : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** The same on one line, of at most `maxLength` characters. */
export function printableLine(text: string, maxLength = 200): string {
  const line = printable(text).replaceAll("\n", "\\n");
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}
