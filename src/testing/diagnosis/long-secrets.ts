import type { Clue } from "./finding.js";
import { secretName } from "./secret-name.js";

/** Longer than any that was chosen. All spellings of what is as long as a file would fill the memory. */
const MAX_CHARACTERS = 65_536;

/** Whether a secret is tried as it is alone. */
export function isLong(secret: string): boolean {
  return secret.length > MAX_CHARACTERS;
}

/** The secrets that are tried as they are alone. */
export function longSecrets(secrets: readonly string[]): readonly Clue[] {
  return secrets.flatMap((secret, secretIndex): Clue[] => {
    if (!isLong(secret)) return [];
    const message = `${secretName(secrets, secretIndex)} has more than ${MAX_CHARACTERS} characters: it was tried as it is, and in no other spelling.`;
    return [{ code: "secret_long", secretIndex, message }];
  });
}
