import { GatewayWebhookError } from "../../common/errors.js";
import type { SqliteDatabase } from "./sqlite-database.js";

/** What is read of `node:fs`. Never an import: a bundle for the edge could not resolve it. */
interface Host {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}
interface FileSystem {
  statSync(path: string): { readonly dev: number; readonly ino: number; readonly size: number };
}

const LOOK_EVERY_MS = 60_000;

/**
 * The file of a handle. A handle keeps a file that was deleted, and SQLite goes on reading and writing it, so
 * nothing else would tell that what it remembers ends with the process.
 */
export class DatabaseFile {
  readonly #path: string;
  readonly #identity: string | undefined;
  #lookAt = performance.now() + LOOK_EVERY_MS;

  constructor(database: SqliteDatabase) {
    const main = database.prepare("PRAGMA database_list").get();
    // By position: a handle may be set to return rows as arrays.
    this.#path = String(Object.values(Object(main) as object)[2]);
    this.#identity = this.#look();
  }

  /**
   * Looks at the file once a minute, and at each call while it is lost.
   *
   * @throws GatewayWebhookError (`file_lost`) if the file was deleted, replaced or emptied since it was opened.
   */
  check(): void {
    if (this.#identity === undefined || performance.now() < this.#lookAt) return;
    if (this.#look() !== this.#identity) {
      throw new GatewayWebhookError(
        "file_lost",
        "the file of the database was deleted, replaced or emptied while it was open, so what the store " +
          "remembers would be lost: put the file back, or start the receiver again with a new one",
      );
    }
    this.#lookAt = performance.now() + LOOK_EVERY_MS;
  }

  /** What tells the file from others; undefined if it is missing or empty, or the runtime does not tell. */
  #look(): string | undefined {
    try {
      const module = (globalThis as Host).process?.getBuiltinModule?.("node:fs");
      const { dev, ino, size } = (module as FileSystem).statSync(this.#path);
      return size === 0 ? undefined : `${dev}:${ino}`;
    } catch {
      return undefined;
    }
  }
}
