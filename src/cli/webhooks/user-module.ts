import { pathToFileURL } from "node:url";
import { adapterHooksOf } from "../../answer/adapter-hooks.js";
import type { AttemptReader } from "../../management/attempt-reader.js";
import type { WebhookReceiver } from "../../options/webhook-receiver.js";
import { UsageError } from "../exit.js";
import { fileReason } from "../options/read-input.js";
import type { CommandIo } from "../terminal/command-io.js";
import { printableLine } from "../terminal/printable.js";

/** What the module of `--module` exports. */
export interface UserModule {
  readonly receiver?: WebhookReceiver;
  readonly readAttempt?: AttemptReader;
  readonly isCompleted?: (id: string) => unknown;
}

/** Loads the user's module. Throws `UsageError`. */
export async function loadUserModule(file: string): Promise<UserModule> {
  try {
    return (await import(pathToFileURL(file).href)) as UserModule;
  } catch (error) {
    throw new UsageError(`--module cannot be loaded: ${reasonOf(error)}`);
  }
}

/** Whether an export has what `--recover` calls. */
export function isReceiver(given: unknown): boolean {
  const { recover, drain } = Object(given) as Record<string, unknown>;
  return typeof recover === "function" && typeof drain === "function";
}

/** Throws `UsageError` if the receiver's store has forgotten older ids: it would handle their deliveries again. */
export function checkRetention(receiver: WebhookReceiver | undefined, since: Date): void {
  const { retentionMs = Infinity } = receiver === undefined ? {} : adapterHooksOf(receiver);
  if (Date.now() - since.getTime() <= retentionMs) return;
  const hours = Math.floor(retentionMs / 3_600_000);
  throw new UsageError(
    `--since is further back than retentionMs of the receiver, ${hours} hours: what its store has forgotten would be handled again`,
  );
}

/** Whether the module knows a delivery as handled. Throws `UsageError`. */
export async function isCompletedBy({ isCompleted }: UserModule, id: string): Promise<boolean> {
  try {
    return (await isCompleted?.(id)) === true;
  } catch (error) {
    throw new UsageError(`isCompleted of --module failed: ${reasonOf(error)}`);
  }
}

/** Waits until the receiver has finished. Says so if it cannot. */
export async function drain({ err }: CommandIo, receiver?: WebhookReceiver): Promise<boolean> {
  try {
    await receiver?.drain();
    return true;
  } catch (error) {
    err.write(`drain of --module failed: ${printableLine(reasonOf(error))}\n`);
    return false;
  }
}

/**
 * What an error of the module is, in one line: its code or its name. Its message is not shown, since it may hold a
 * password of the store or a part of a body.
 */
export function reasonOf(error: unknown): string {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return fileReason({ code: code ?? name });
}
