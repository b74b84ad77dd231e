/**
 * The code of an error that the server answered with, such as `NOSCRIPT`: its first word, in both
 * libraries. Undefined for what a client says of its connection.
 */
export function serverErrorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("message" in error)) return undefined;
  return typeof error.message === "string" ? /^[A-Z]{2,}(?= )/.exec(error.message)?.[0] : undefined;
}
