import { readFile } from "node:fs/promises";
import { keyOf } from "../../signature/secrets.js";
import type { CommandIo } from "../terminal/command-io.js";
import type { OptionSpecs } from "./option-specs.js";
import { fileReason } from "./read-input.js";
import { UsageError } from "../exit.js";

/** Where a secret is read where no option gives one. */
const VARIABLE = "GATEWAY_WEBHOOK_SECRET";

/** The options by which a command is given secrets. */
export const SECRET_OPTIONS = {
  secret: {
    kind: "list",
    value: "<secret>",
    help: `The webhook's secret. Other users of the machine can see it in the list of processes; ${VARIABLE} or --secret-file keeps it from them.`,
  },
  "secret-file": {
    kind: "list",
    value: "<file>",
    help: "A file that holds the secret. One line end after it, \\n or \\r\\n, is no part of it; anything else is.",
  },
} as const satisfies OptionSpecs;

/** What `SECRET_OPTIONS` give. */
export interface SecretValues {
  readonly secret: readonly string[];
  readonly "secret-file": readonly string[];
}

/** The secrets that are given, in their order; none where none is. They are not checked. */
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

/** The one secret of a command that signs. Throws `UsageError` where there is none, or several. */
export async function readOneSecret(io: CommandIo, values: SecretValues): Promise<string> {
  const [secret, ...more] = await readSecrets(io, values);
  if (secret === undefined) throw noSecret();
  if (more.length > 0) throw new UsageError("several secrets are given, and it signs with one");
  // Refused as the receiver refuses it, which would otherwise look like a mismatch.
  keyOf(secret);
  return secret;
}

/** What to say where a secret is needed; `orElse` names another way out. */
export function noSecret(orElse = ""): UsageError {
  return new UsageError(`no secret: set ${VARIABLE}, or give --secret-file or --secret${orElse}`);
}

async function readSecretFile(path: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new UsageError(`--secret-file: ${fileReason(error)}`);
  }
  let text: string;
  try {
    // A byte order mark is kept: it would be a part of the key.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError("--secret-file: its content is no UTF-8 text");
  }
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") throw new UsageError("--secret-file: the file is empty");
  return secret;
}
