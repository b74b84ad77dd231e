import type { Log } from "../answer/logger.js";
import { environmentVariable } from "../common/runtime.js";

/**
 * One captured delivery is enough to guess a shorter secret, without any request to the receiver.
 */
const MIN_LENGTH = 16;

/** Placeholders in documents and templates, without case, spaces and signs. */
const PLACEHOLDERS = new Set(
  `changeme changethis replaceme secret mysecret yoursecret yoursecrethere supersecret topsecret
  webhooksecret yourwebhooksecret yourwebhooksecrethere gatewaywebhooksecret password placeholder
  example examplesecret test todo insertsecrethere putyoursecrethere pleasechangeme whsec
  whsecyoursecret`.split(/\s+/),
);

/** The public secret of this package's fixtures, examples and tests. */
const PUBLIC_TEST_SECRET = "whsec_test_0123456789abcdef";

const REPLACE =
  ": register a random one of at least 32 characters at the gateway, for example from openssl rand -hex 32, and set it here";
const IN_QUOTES =
  "is in quotation marks, and they count as a part of it: remove them where it is set. docker run --env-file keeps those of its file";

/** What is wrong with the secret, and what to do. Undefined if nothing is. Never contains the secret. */
function weaknessOf(secret: string): string | undefined {
  if (/^(["'`]).*\1$/s.test(secret)) return IN_QUOTES;
  const weakness = guessabilityOf(secret);
  return weakness === undefined ? undefined : weakness + REPLACE;
}

/** Why a secret can be guessed. */
function guessabilityOf(secret: string): string | undefined {
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

/** Checks each secret of a receiver, and warns once about the first weak one, and once about the first unusable one. */
export class WeakSecretCheck {
  readonly #log: Log;
  #hasWarned = false;
  #hasWarnedUnusable = false;

  constructor(log: Log) {
    this.#log = log;
  }

  check(secret: string): void {
    const weakness = this.#hasWarned ? undefined : weaknessOf(secret);
    if (weakness === undefined) return;
    this.#hasWarned = true;
    this.#log.warn(`the webhook secret ${weakness}`);
  }

  /** For an entry of a secret function's list that cannot be a secret. The others are tried without it. */
  warnUnusable(index: number, fault: string): void {
    if (this.#hasWarnedUnusable) return;
    this.#hasWarnedUnusable = true;
    this.#log.warn(`entry ${String(index)} of what the secret function returned ${fault}`);
  }
}
