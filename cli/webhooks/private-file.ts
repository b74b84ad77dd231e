import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import type { SenderSecret } from "../../kit/signed-delivery.js";
import { createWebhookSecret } from "../../src/management/probe-receiver.js";
import { secretFault } from "../../src/signature/secrets.js";
import { UsageError } from "../exit.js";
import { fileReason } from "../options/read-input.js";
import {
  hasSecrets,
  readSecrets,
  readSenderSecret,
  typedValue,
  type SecretValues,
} from "../options/secret-source.js";
import { typesOf } from "../options/shared-options.js";
import type { CommandIo } from "../terminal/command-io.js";

/**
 * Writes a file that only its owner can read (mode 600). A reader sees the old content or the new one, also if this
 * process is killed meanwhile. Throws `UsageError` if it cannot be written.
 */
export async function writePrivateFile(option: string, path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    // A file that is there would keep its mode.
    await rm(temporary, { force: true });
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === "ERR_FS_EISDIR";
    throw new UsageError(`--${option}: ${isFolder ? FOLDER_IN_THE_WAY : fileReason(error)}`);
  }
}

const FOLDER_IN_THE_WAY =
  "there is a folder whose name is that of the file with .tmp at its end: remove it, since the file is written there first";

/** The text of a file; undefined if there is none. Throws `UsageError` if it cannot be read. */
export async function readIfThere(option: string, path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(`--${option}: ${fileReason(error)}`);
  }
}

/** A secret in a file. */
export interface FiledSecret {
  readonly secret: string;
  readonly isNew: boolean;
}

/** The secret in a file. Warns if others can read it. If there is no file, makes a secret and writes it there. */
export async function secretInFile(
  io: CommandIo,
  option: string,
  path: string,
): Promise<FiledSecret> {
  const known = await readIfThere(option, path);
  if (known === undefined) {
    const secret = createWebhookSecret();
    await writePrivateFile(option, path, `${secret}\n`);
    return { secret, isNew: true };
  }
  const secret = known.replace(/\r?\n$/, "");
  const fault = secretFault(secret);
  if (fault !== undefined) throw new UsageError(`--${option}: the secret in it ${fault}`);
  await warnIfReadByOthers(io, option, path);
  return { secret, isNew: false };
}

/**
 * The secret in use of the types in `--type`, undefined if none is given. Throws `UsageError` or `ConfigurationError`
 * for an unusable one.
 */
export async function readCurrentSecret(
  io: CommandIo,
  values: SecretValues & { readonly type: readonly string[] },
): Promise<SenderSecret | undefined> {
  if (!hasSecrets(await readSecrets(io, values))) return undefined;
  const secret = await readSenderSecret(io, values, typesOf(values.type));
  for (const given of values["secret-file"]) {
    await warnIfReadByOthers(io, "secret-file", typedValue(given)[1]);
  }
  return secret;
}

/** For a command that changes webhooks with one secret. */
export const ONE_TYPE =
  "each type has a secret of its own: run this command once for each, with --type";

/** Warns if a file of a secret, a token or a login can be read by others. */
export async function warnIfReadByOthers(
  { err }: CommandIo,
  option: string,
  path: string,
  what = "the secret",
): Promise<void> {
  const { mode } = await stat(path).catch(() => ({ mode: 0 }));
  // The modes of Windows say nothing about its users.
  if ((mode & 0o077) === 0 || process.platform === "win32") return;
  err.write(`--${option}: other users of this machine can read ${what}: chmod 600 its file\n`);
}
