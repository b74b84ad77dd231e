import { ConfigurationError } from "../../common/errors.js";
import { keyOf } from "../../signature/secrets.js";
import type { Clue } from "./finding.js";
import { secretName } from "./secret-name.js";

/** The secrets that a receiver refuses when it is made. */
export function refusedSecrets(secrets: readonly string[]): readonly Clue[] {
  return secrets.flatMap((secret, secretIndex): Clue[] => {
    const name = secretName(secrets, secretIndex);
    if (secret === "" || secret === "undefined" || secret === "null") {
      const message = `${name} is empty, or the text that an unset variable becomes.`;
      return [{ code: "secret_unset", secretIndex, message }];
    }
    const isRefused = isRefusedByReceivers(secret);
    if (!isRefused) return [];
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
