/** The stable codes of `FixtureError`. */
export type FixtureErrorCode = "not_found" | "unreadable" | "invalid_fixture";

/**
 * A fixture that cannot be loaded: nothing is there (`not_found`), the disk refuses (`unreadable`), or
 * the file is no fixture (`invalid_fixture`). The message names the file and the field, and never quotes
 * what is in it: a recorded body may be personal data.
 */
export class FixtureError extends Error {
  override readonly name = "FixtureError";

  constructor(
    /** Which rule was broken. Stable, so that code can branch on it. */
    readonly code: FixtureErrorCode,
    message: string,
  ) {
    super(message);
  }
}
