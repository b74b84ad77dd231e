import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import type { WebhookType } from "../../src/delivery/headers.js";
import { textOfUtf8 } from "../../kit/json-parts.js";
import { secretOf, type SenderSecret } from "../../kit/signed-delivery.js";
import { keyOf } from "../../src/signature/secrets.js";
import type { CommandIo } from "../terminal/command-io.js";
import { list, type OptionSpecs, type Values } from "./option-specs.js";
import { readSecretive } from "./read-input.js";
import { UsageError } from "../exit.js";

/** The environment variable that holds the secret when no option does. */
const VARIABLE = "GATEWAY_WEBHOOK_SECRET";

/** The options that pass secrets to a command. */
export const SECRET_OPTIONS = {
  secret: list(
    "<secret>",
    `The webhook's secret. Other users of this machine can see it in the list of processes: prefer ${VARIABLE} or --secret-file.`,
  ),
  "secret-file": list(
    "<file>",
    `A file that holds the secret. One line end after it (\\n or \\r\\n) is ignored; every other byte counts. Where each type has a secret of its own: ${WEBHOOK_TYPES.map((type) => `${type}=<file>`).join(" and ")}, or the variables ${WEBHOOK_TYPES.map(variableOf).join(" and ")}.`,
  ),
} as const satisfies OptionSpecs;

/** The values of `SECRET_OPTIONS`. */
export type SecretValues = Values<typeof SECRET_OPTIONS>;

/** The secrets of each type, in their order. */
export type TypeSecrets = Readonly<Record<WebhookType, readonly string[]>>;

const OF_TYPE = new RegExp(`^(${WEBHOOK_TYPES.join("|")})=(.*)$`, "s");

/** The type that the value of an option is for, undefined for all, and the rest of the value. */
export function typedValue(given: string): readonly [type: string | undefined, value: string] {
  const [, type, value = given] = OF_TYPE.exec(given) ?? [];
  return [type, value];
}

/** The given secrets, unchecked. One without a type is for the types that have none of their own. */
export async function readSecrets({ env }: CommandIo, values: SecretValues): Promise<TypeSecrets> {
  const files = values["secret-file"].map(async (given) => {
    const [type, path] = typedValue(given);
    return [type, await readSecretFile(path)] as const;
  });
  const options = [...values.secret.map(typedValue), ...(await Promise.all(files))];
  const variables = [undefined, ...WEBHOOK_TYPES].map(
    (type) => [type, env[variableOf(type)] ?? ""] as const,
  );
  const given = options.length > 0 ? options : variables.filter(([, secret]) => secret !== "");
  const of = (wanted?: string): readonly string[] =>
    given.flatMap(([type, secret]) => (type === wanted ? [secret] : []));
  const byType = WEBHOOK_TYPES.map((type) => [type, of(type).length > 0 ? of(type) : of()]);
  return Object.fromEntries(byType) as TypeSecrets;
}

/** Throws `UsageError` unless each of these types has a secret. `orElse` names an alternative to a secret. */
export function checkSecrets(
  secrets: TypeSecrets,
  types: readonly WebhookType[] = WEBHOOK_TYPES,
  orElse = "",
): void {
  const missing = types.find((type) => secrets[type].length === 0);
  if (missing === undefined) return;
  const all = hasSecrets(secrets) ? missing : undefined;
  const file = all === undefined ? "--secret-file or --secret" : `--secret-file ${missing}=<file>`;
  const rest = all === undefined || types.length === 1 ? "" : ", or leave the type out with --type";
  throw new UsageError(
    `no secret${all === undefined ? "" : ` for ${all}`}: set ${variableOf(all)}, or pass ${file}${rest}${orElse}`,
  );
}

/** Whether there is a secret of any type. */
export function hasSecrets(secrets: TypeSecrets): boolean {
  return Object.values(secrets).some(({ length }) => length > 0);
}

/** The secret of a command that signs deliveries of these types. Throws `UsageError` unless each has exactly one. */
export async function readSenderSecret(
  io: CommandIo,
  values: SecretValues,
  types: readonly WebhookType[],
): Promise<SenderSecret> {
  const secrets = await readSecrets(io, values);
  checkSecrets(secrets, types);
  if (types.some((type) => secrets[type].length > 1)) {
    throw new UsageError("several secrets given: this command signs with one, or one of each type");
  }
  const own = types.map((type) => [type, secrets[type][0]] as const);
  // Refuse here what the receiver refuses. Otherwise it would look like a signature mismatch.
  for (const [, secret] of own) keyOf(secret ?? "");
  const byType: SenderSecret = Object.fromEntries(own);
  return new Set(Object.values(byType)).size > 1 ? byType : secretOf(byType, undefined);
}

/**
 * Why deliveries of one type are accepted and all of the other refused, in one line, and what to do. `how`: what the
 * refused ones are answered.
 */
export function otherSecret(accepted: WebhookType, refused: WebhookType, how: string) {
  return {
    message: `the endpoint accepts ${accepted} and refuses ${refused} (${how}), as it refuses any wrong secret`,
    fix: `If it has a secret for each type, pass both: ${WEBHOOK_TYPES.map((type) => `--secret-file ${type}=<file>`).join(" ")}. If it is registered for ${accepted} alone, pass --type ${accepted}.`,
  };
}

/** The environment variable for the secret of a type, or of all. */
function variableOf(type: string | undefined): string {
  return type === undefined ? VARIABLE : `${VARIABLE}_${type.toUpperCase()}`;
}

async function readSecretFile(path: string): Promise<string> {
  // Keeps a byte order mark: it is a part of the key.
  const text = textOfUtf8(await readSecretive("secret-file", path));
  if (text === undefined) throw new UsageError("--secret-file: its content is not UTF-8 text");
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") throw new UsageError("--secret-file: the file is empty");
  return secret;
}
