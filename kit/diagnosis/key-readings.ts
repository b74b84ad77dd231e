import { TEST_SECRET } from "../signed-delivery.js";
import { undo } from "./changes.js";
import type { Clue } from "./finding.js";
import type { SecretOfType } from "./given-secrets.js";
import { isLong, secretName } from "./secret-clues.js";
import { SECRET_SPELLINGS } from "./secret-spellings.js";

/** A key to try, with the clues that it assumes. */
export interface KeyReading {
  readonly key: Uint8Array;
  /** Index in `secret`, if the key comes from there. */
  readonly secretIndex: number | undefined;
  readonly clues: readonly Clue[];
}

/** The keys that a sender uses when its secret is not set. */
const UNSET_SECRETS = ["", "undefined", "null", "None"];
const UNSET: Clue = {
  code: "secret_unset",
  message: "It is signed without a secret, or with the text that an unset variable becomes.",
};
const TEST: Clue = {
  code: "test_secret",
  message: "It is signed with the published test secret of the fixtures.",
};

/** How several secrets become one text in a configuration. */
const JOINTS = [",", ", ", " ", ";", "\n"];
const JOINED: Clue = {
  code: "secret_joined",
  message: "It is signed with all values of secret as one text: so the secret was registered.",
};

/** The secrets as given. */
export function givenKeys(secrets: readonly string[]): readonly KeyReading[] {
  return secrets.map((secret, secretIndex) => ({
    key: Buffer.from(secret, "utf8"),
    secretIndex,
    clues: [],
  }));
}

/** Accidental spellings of a secret, other secrets, and the keys of a sender without a secret. */
export function otherKeys(
  secrets: readonly string[],
  otherSecrets: readonly string[],
  ofOtherTypes: readonly SecretOfType[],
): readonly KeyReading[] {
  const typed = ofOtherTypes.map(({ type, secret }) =>
    withoutPlace(secret, {
      code: "other_secret",
      secretType: type,
      message: `It is signed with the secret for ${type}, and X-Webhook-Type does not name that type.`,
    }),
  );
  const others = otherSecrets.map((secret, otherSecretIndex) =>
    withoutPlace(secret, {
      code: "other_secret",
      otherSecretIndex,
      message: `It is signed with otherSecrets[${otherSecretIndex}], not with a value of secret.`,
    }),
  );
  const unset = UNSET_SECRETS.map((secret) => withoutPlace(secret, UNSET));
  const test = withoutPlace(TEST_SECRET, TEST);
  const spelled = secrets.flatMap((secret, secretIndex) =>
    (isLong(secret) ? [] : [...undo(SECRET_SPELLINGS, secret)]).flatMap(
      ({ bytes: key, code, what }): readonly KeyReading[] => {
        const message = `${secretName(secrets, secretIndex)} ${what}.`;
        const clues = [{ code, secretIndex, message }];
        return key.length === 0 ? [] : [{ key, secretIndex, clues }];
      },
    ),
  );
  const joints = secrets.length > 1 ? JOINTS : [];
  const joined = joints.map((joint) => withoutPlace(secrets.join(joint), JOINED));
  // The secret may be a spelling of the test secret. Then the spelling is the cause, so it comes first.
  return distinct([...typed, ...spelled, ...joined, ...others, test, ...unset], secrets);
}

function withoutPlace(secret: string, clue: Clue): KeyReading {
  return { key: Buffer.from(secret, "utf8"), secretIndex: undefined, clues: [clue] };
}

/** Each key once, under its first name, without the keys that are given unchanged. */
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
