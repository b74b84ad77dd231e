import { environmentVariable } from "../common/runtime.js";

/** Shorter ones can be guessed from one captured delivery, without asking the receiver. */
const MIN_LENGTH = 16;

/** What documents and templates put where a secret belongs, without case, spaces and signs. */
const PLACEHOLDERS = new Set([
  ...["changeme", "changethis", "replaceme", "secret", "mysecret", "yoursecret", "yoursecrethere"],
  ...["supersecret", "topsecret", "webhooksecret", "yourwebhooksecret", "yourwebhooksecrethere"],
  ...[
    "gatewaywebhooksecret",
    "password",
    "placeholder",
    "example",
    "examplesecret",
    "test",
    "todo",
  ],
  ...["insertsecrethere", "putyoursecrethere", "pleasechangeme", "whsec", "whsecyoursecret"],
]);

/** The public secret of this package's fixtures, which its examples and tests run with. */
const PUBLIC_TEST_SECRET = "whsec_test_0123456789abcdef";

/** Why a secret should be another one; undefined where nothing speaks against it. Never the secret. */
function weaknessOf(secret: string): string | undefined {
  if (PLACEHOLDERS.has(secret.toLowerCase().replaceAll(/[^0-9a-z]/g, ""))) {
    return "is a placeholder of a template";
  }
  if (new Set(secret).size === 1) return "is one character again and again";
  if (secret.length < MIN_LENGTH) {
    return `is shorter than ${String(MIN_LENGTH)} characters, so one captured delivery is enough to guess it`;
  }
  if (secret === PUBLIC_TEST_SECRET && environmentVariable("NODE_ENV") === "production") {
    return "is the public test secret of this package, and NODE_ENV is production";
  }
  return undefined;
}

/** Looks at each secret that a receiver is given, and warns of the first weak one, once. */
export function createSecretWatch(warn: (message: string) => void): (secret: string) => void {
  let hasWarned = false;
  return (secret) => {
    const weakness = hasWarned ? undefined : weaknessOf(secret);
    if (weakness === undefined) return;
    hasWarned = true;
    warn(
      `the webhook secret ${weakness}: register a random one of at least 32 characters at the gateway, for example from openssl rand -hex 32, and set it here`,
    );
  };
}
