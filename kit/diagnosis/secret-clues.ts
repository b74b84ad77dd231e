import { ConfigurationError } from "../../src/common/errors.js";
import { keyOf } from "../../src/signature/secrets.js";
import type { Clue } from "./finding.js";

/** The name of a secret in a message: its index, never a part of the secret. */
export function secretName(secrets: readonly string[], index: number): string {
  return secrets.length === 1 ? "The secret" : `secret[${index}]`;
}

/** The secrets that `createWebhookReceiver` refuses. */
export function refusedSecrets(secrets: readonly string[]): readonly Clue[] {
  return secrets.flatMap((secret, secretIndex): Clue[] => {
    const name = secretName(secrets, secretIndex);
    if (secret === "" || secret === "undefined" || secret === "null") {
      const message = `${name} is empty, or the text that an unset variable becomes.`;
      return [{ code: "secret_unset", secretIndex, message }];
    }
    if (!isRefusedByReceivers(secret)) return [];
    const message = `${name} has white space or a byte order mark at an end.`;
    return [{ code: "secret_refused", secretIndex, message }];
  });
}

function isRefusedByReceivers(secret: string): boolean {
  try {
    keyOf(secret);
    return false;
  } catch (error) {
    return error instanceof ConfigurationError;
  }
}

/** Longer than any real secret. The spellings of a whole file would fill the memory. */
const MAX_CHARACTERS = 65_536;

/** Whether a secret is only tried unchanged. */
export function isLong(secret: string): boolean {
  return secret.length > MAX_CHARACTERS;
}

/** A clue for each secret that is only tried unchanged. */
export function longSecrets(secrets: readonly string[]): readonly Clue[] {
  return secrets.flatMap((secret, secretIndex): Clue[] => {
    if (!isLong(secret)) return [];
    const message = `${secretName(secrets, secretIndex)} has more than ${MAX_CHARACTERS} characters: it was only tried unchanged.`;
    return [{ code: "secret_long", secretIndex, message }];
  });
}
