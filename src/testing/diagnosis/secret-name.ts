/** What a message calls a secret by its place, and never by a part of it. */
export function secretName(secrets: readonly string[], index: number): string {
  return secrets.length === 1 ? "The secret" : `secret[${index}]`;
}
