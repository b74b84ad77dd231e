/**
 * `statement` with its parameters `$1`, `$2` … written into it, so that it can be sent together with the
 * settings that limit it: one text has no parameters, and a text for each would be a round trip for each.
 */
export function inlined(statement: string, values: readonly unknown[]): string {
  return statement.replace(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1]));
}

/** `value` as a literal whose type follows from where it stands, as that of a parameter does. */
function literal(value: unknown): string {
  const text = String(value);
  // The wire format ends a text there.
  if (text.includes("\0")) throw new TypeError("PostgreSQL takes no text with U+0000");
  const quoted = `'${text.replaceAll("'", "''")}'`;
  // Whatever standard_conforming_strings is.
  return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
