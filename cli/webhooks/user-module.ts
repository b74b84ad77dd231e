import { LONGEST_RETRIES_MS } from "../../src/common/gateway-facts.js";
import { pathToFileURL } from "node:url";
import type { DeadDeliveries } from "../../src/inbox/dead-deliveries.js";
import type { InboxOverflow } from "../../src/inbox/overflow.js";
import type { AttemptReader } from "../../src/management/attempt-reader.js";
import type { NextPage } from "../../src/management/list-pages.js";
import { internalsOf, type WebhookReceiver } from "../../src/options/webhook-receiver.js";
import { UsageError } from "../exit.js";
import { fileReason } from "../options/read-input.js";
import type { CommandIo } from "../terminal/command-io.js";
import { printableLine } from "../terminal/printable.js";

/** What the module of `--module` exports. */
export interface UserModule {
  readonly receiver?: WebhookReceiver;
  readonly readAttempt?: AttemptReader;
  readonly isCompleted?: (id: string) => unknown;
  readonly nextPage?: NextPage;
  /** A queue driver. Not each one can handle its dead jobs. */
  readonly driver?: Partial<DeadDeliveries>;
  readonly overflow?: InboxOverflow;
}

/** Loads the user's module, if there is one. Throws `UsageError`. */
export async function loadUserModule(file: string | undefined): Promise<UserModule> {
  if (file === undefined) return {};
  try {
    return (await import(pathToFileURL(file).href)) as UserModule;
  } catch (error) {
    const { code } = Object(error) as { code?: unknown };
    const hint =
      code === "ERR_UNKNOWN_FILE_EXTENSION"
        ? ". This Node runs no TypeScript: name a .mjs file, or set NODE_OPTIONS='--import tsx'"
        : "";
    throw new UsageError(`--module cannot be loaded: ${reasonOf(error)}${hint}`);
  }
}

/** Whether an export has what `--recover` calls. */
export function isReceiver(given: unknown): given is WebhookReceiver {
  const receiver = Object(given) as Partial<WebhookReceiver>;
  return typeof receiver.drain === "function" && internalsOf(receiver)?.recover !== undefined;
}

const HOUR_MS = 3_600_000;

/**
 * Throws `UsageError` if the receiver's store may have forgotten ids: it would handle their deliveries again. `since` is
 * about the last attempt, and the store forgets counted from the completion, which may be at the first one.
 */
export function checkRetention(receiver: WebhookReceiver | undefined, since: Date): void {
  const retentionMs = (receiver && internalsOf(receiver)?.retentionMs) ?? Infinity;
  const rememberedMs = retentionMs - LONGEST_RETRIES_MS;
  if (Date.now() - since.getTime() <= rememberedMs) return;
  const hours = Math.floor(rememberedMs / HOUR_MS);
  throw new UsageError(
    `--since is further back than ${hours} hours, which is retentionMs of the receiver without the 36 hours that the gateway may retry: what its store has forgotten would be handled again`,
  );
}

/** Throws `UsageError` if nothing tells what was handled: all of it would be handled again. `known`: ids of --completed. */
export function checkRepeats(receiver: WebhookReceiver | undefined, known?: number): void {
  const isInMemory = receiver !== undefined && internalsOf(receiver)?.isInMemory === true;
  const reason = isInMemory ? "the memory store of --module" : known === 0 && "--completed";
  if (reason === false) return;
  throw new UsageError(
    `${reason} is empty: --recover would handle again what was handled. Pass the store of your receiver and its ids, or --handle-again`,
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
