/** What an error says, for a message; a partner's code may throw anything. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : "no reason is given";
}
