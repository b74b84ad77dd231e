/**
 * Characters that a terminal obeys or does not show: control characters except the newline, line
 * separators, and invisible ones, such as zero-width characters and changes of the writing direction.
 */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

/** Whether a text holds an unprintable character besides tabs and newlines. */
export function hasUnprintable(text: string): boolean {
  return text.replaceAll("\t", "").search(UNPRINTABLE) !== -1;
}

/** Escapes unprintable characters as JSON does: `\u202e`. Newlines stay. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (char) =>
    char
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
