import type { Log } from "../answer/logger.js";
import { environmentVariable } from "../common/runtime.js";
import { MIN_SECRET_LENGTH } from "./secrets.js";

/** Placeholders in documents and templates, without case, spaces and signs. */
const PLACEHOLDERS = new Set(
  `changeme changethis replaceme secret mysecret yoursecret yoursecrethere supersecret topsecret
  webhooksecret yourwebhooksecret yourwebhooksecrethere gatewaywebhooksecret password placeholder
  example examplesecret test todo insertsecrethere putyoursecrethere pleasechangeme whsec
  whsecyoursecret`.split(/\s+/),
);

/** Parts of longer placeholders, in the same form. Too long to occur in a random secret. */
const PLACEHOLDER_PARTS =
  /changeme|changethis|changebefore|replaceme|replacethis|replacewith|placeholder|donotuse|yoursecret|yourwebhook|secrethere|notasecret|insertyour/;

/**
 * Shapes of a value that is no secret: something should have put the secret in its place, and did not. The patterns
 * are so strict that no random secret fits one, whatever its alphabet: not one of a million.
 */
const SHAPES: readonly (readonly [shape: string, fits: RegExp])[] = [
  ["JSON", /^\{\s*"[^"]*"\s*:.*\}$|^\[\s*["{].*["}]\s*\]$/s],
  ["a PEM block", /^-----BEGIN /],
  ["an encrypted value, such as ENC[…]", /^ENC\[.*\]$/],
  ["text with a line break", /[\r\n]/],
  [
    "a reference with a scheme, such as op:// or vault:",
    /^[a-z][a-z0-9+.-]+:\/\/[\w./:@%?=&#~ -]*$|^(?:arn:aws|vault:|secret:|keyvault:|(?:aws:)?secretsmanager:|ssm:\/|file:\/|env:[A-Z_]{3})/,
  ],
  ["the name of a cloud's resource", /^\/?(?:projects|subscriptions)\/[^/]+\/\w+\//],
  ["a reference of Azure App Service", /^@Microsoft\.\w+\(/],
  [
    "a template expression, such as {{ }}",
    /^\$?\{\{.*\}\}$|^<%.*%>$|^#\{\w+\}#?$|^<[a-z_ -]+>$|^<[A-Z_ -]+>$/,
  ],
  [
    "a shell expression, such as $NAME, ${ } or $( )",
    /^\$\{(?:[A-Z_]{4}|[a-z_.]{4})[\w.]*(?:[:?!|/-].*)?\}$|^\$\((?:[a-z]+ .*|[A-Z_.]+|[a-z_.]+)\)$|^\$(?:env:)?[A-Z_][A-Z0-9_]+$|^%[A-Z_][A-Z0-9_]+%$/,
  ],
  [
    "an expression of code, such as process.env",
    /\b(?:process|Deno|import\.meta)\.env\b|os\.environ/,
  ],
  ["an object made into text", /^\[object \w+\]$/],
  ["a line of HTTP, such as Bearer", /^(?:Bearer|Basic) |^(?:Authorization|X-Webhook-\w+):/i],
  ["a signature", /^v1=[0-9a-f]{64}$/i],
  [
    "a line NAME=value",
    /^(?:export )?(?:(?=[A-Z0-9_]*(?:SECRET|TOKEN|WEBHOOK|GATEWAY|_KEY))[A-Z0-9_]+|(?=[a-z0-9_]*(?:secret|token|webhook|gateway))[a-z0-9_]+)=[^=]/,
  ],
  [
    "a path",
    /^\/(?:run|var|etc|home|usr|opt|mnt|tmp|app|srv|root|secrets|vault|Users)\/|^(?:~|\.\.?)(?:\/[a-z0-9._-]+)+$|^[A-Za-z]:(?:\\[\w .-]+){2,}$|^[\w./\\:-]+\.(?:txt|key|pem|json|env|ya?ml|secret)$/,
  ],
];

/** Not any text between quotation marks: those of a printable password may be a part of it. */
const QUOTED = /^(["'`])(?:[\w+/=.-]{22,}|[0-9a-z_-]+|[0-9A-Z_-]+)\1$/;

/** The public secret of this package's fixtures, examples and tests. */
const PUBLIC_TEST_SECRET = "whsec_test_0123456789abcdef";

const REPLACE =
  ": register a random one of at least 32 characters at the gateway, for example from openssl rand -hex 32, and set it here";
const NOT_PUT_IN =
  ", and not the secret itself: look for the step that should have put the secret in its place";
const IN_QUOTES =
  "is in quotation marks, and they count as a part of it: remove them where it is set. docker run --env-file keeps those of its file";

/** What is wrong with the secret, and what to do. Undefined if nothing is. Never contains the secret. */
function weaknessOf(secret: string): string | undefined {
  if (QUOTED.test(secret)) return IN_QUOTES;
  const shape = SHAPES.find(([, fits]) => fits.test(secret))?.[0];
  if (shape !== undefined) return `is ${shape}${NOT_PUT_IN}`;
  const weakness = guessabilityOf(secret);
  return weakness === undefined ? undefined : weakness + REPLACE;
}

/** Why a secret can be guessed. */
function guessabilityOf(secret: string): string | undefined {
  const plain = secret.toLowerCase().replaceAll(/[^0-9a-z]/g, "");
  if (PLACEHOLDERS.has(plain) || PLACEHOLDER_PARTS.test(plain)) {
    return "is a placeholder of a template";
  }
  if (new Set(secret).size === 1) return "is one character again and again";
  if (secret.length < MIN_SECRET_LENGTH) {
    return `is shorter than ${String(MIN_SECRET_LENGTH)} characters, so one captured delivery is enough to guess it`;
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
