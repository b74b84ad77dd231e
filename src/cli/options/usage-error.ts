/** The command was called wrongly. Its message is one line that says what to change, and holds no secret. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
