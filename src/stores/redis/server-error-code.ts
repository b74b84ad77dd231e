/**
 * The code of an error that the server answered with, such as `NOSCRIPT`: its first word, in both
 * libraries. Undefined for what a client says of its connection.
 */
export function serverErrorCode(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown };
  return /^[A-Z]{2,}(?= )/.exec(String(message))?.[0];
}
