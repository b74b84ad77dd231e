import { textOfUtf8 } from "../../kit/json-parts.js";
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
    "A file that holds the secret. One line end after it (\\n or \\r\\n) is ignored; every other byte counts.",
  ),
} as const satisfies OptionSpecs;

/** The values of `SECRET_OPTIONS`. */
export type SecretValues = Values<typeof SECRET_OPTIONS>;

/** The given secrets in their order, unchecked. Empty when none is given. */
export async function readSecrets(
  { env }: CommandIo,
  values: SecretValues,
): Promise<readonly string[]> {
  const fromFiles = await Promise.all(values["secret-file"].map(readSecretFile));
  const given = [...values.secret, ...fromFiles];
  const variable = env[VARIABLE];
  if (given.length > 0 || variable === undefined || variable === "") return given;
  return [variable];
}

/** The secret of a command that signs. Throws `UsageError` unless there is exactly one. */
export async function readOneSecret(io: CommandIo, values: SecretValues): Promise<string> {
  const [secret, ...more] = await readSecrets(io, values);
  if (secret === undefined) throw noSecret();
  if (more.length > 0) throw new UsageError("several secrets given: this command signs with one");
  // Refuse here what the receiver refuses. Otherwise it would look like a signature mismatch.
  keyOf(secret);
  return secret;
}

/** The error for a missing secret. `orElse` names an alternative to a secret. */
export function noSecret(orElse = ""): UsageError {
  return new UsageError(`no secret: set ${VARIABLE}, or pass --secret-file or --secret${orElse}`);
}

async function readSecretFile(path: string): Promise<string> {
  // Keeps a byte order mark: it is a part of the key.
  const text = textOfUtf8(await readSecretive("secret-file", path));
  if (text === undefined) throw new UsageError("--secret-file: its content is not UTF-8 text");
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") throw new UsageError("--secret-file: the file is empty");
  return secret;
}
