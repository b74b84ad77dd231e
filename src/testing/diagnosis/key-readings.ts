import { TEST_SECRET } from "../test-secret.js";
import type { Clue } from "./finding.js";
import { isLong } from "./secret-clues.js";
import { secretName } from "./secret-clues.js";
import { secretSpellings } from "./secret-spellings.js";

/** A key to try, and what has to be assumed for it. */
export interface KeyReading {
  readonly key: Uint8Array;
  /** Place in `secret`, where it is made of one of these. */
  readonly secretIndex: number | undefined;
  readonly clues: readonly Clue[];
}

/** What a sender's program signs with where its secret is not set. */
const UNSET = ["", "undefined", "null", "None"];

/** The secrets as they are given. */
export function givenKeys(secrets: readonly string[]): readonly KeyReading[] {
  return secrets.map((secret, secretIndex) => ({
    key: Buffer.from(secret, "utf8"),
    secretIndex,
    clues: [],
  }));
}

/** Other secrets, what a secret becomes by accident, and what a program without one signs with. */
export function otherKeys(
  secrets: readonly string[],
  otherSecrets: readonly string[],
): readonly KeyReading[] {
  const others = otherSecrets.map((secret, otherSecretIndex) =>
    withoutPlace(secret, {
      code: "other_secret",
      otherSecretIndex,
      message: `It is signed with otherSecrets[${otherSecretIndex}], which is none of those given as secret.`,
    }),
  );
  const unset = UNSET.map((secret) =>
    withoutPlace(secret, {
      code: "secret_unset",
      message: "It is signed with no secret at all, or with the text that an unset one becomes.",
    }),
  );
  const test = withoutPlace(TEST_SECRET, {
    code: "test_secret",
    message: "It is signed with the published test secret of the fixtures.",
  });
  const spelled = secrets.flatMap((secret, secretIndex) =>
    (isLong(secret) ? [] : secretSpellings(secret)).map(({ key, code, what }): KeyReading => {
      const message = `${secretName(secrets, secretIndex)} ${what}.`;
      return { key, secretIndex, clues: [{ code, secretIndex, message }] };
    }),
  );
  return distinct([...others, test, ...spelled, ...unset], secrets);
}

function withoutPlace(secret: string, clue: Clue): KeyReading {
  return { key: Buffer.from(secret, "utf8"), secretIndex: undefined, clues: [clue] };
}

/** Each key once, under its first name, and none that is given as it is. */
function distinct(keys: readonly KeyReading[], secrets: readonly string[]): readonly KeyReading[] {
  const textOf = (key: Uint8Array): string => Buffer.from(key).toString("latin1");
  const seen = new Set(givenKeys(secrets).map(({ key }) => textOf(key)));
  return keys.filter(({ key }) => {
    const text = textOf(key);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
