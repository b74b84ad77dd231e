import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { SqliteDriver, SqliteHandle, SqliteHandleOptions } from "./drivers.js";

/** A folder with one database file, and the handles that were opened on it. */
export type SqliteFolder = ReturnType<typeof sqliteFolder>;

/** Makes an empty folder for a database. */
export function sqliteFolder(driver: SqliteDriver) {
  const folder = mkdtempSync(path.join(tmpdir(), "webhooks-sqlite-"));
  const file = path.join(folder, "deliveries.db");
  const handles: SqliteHandle[] = [];
  return {
    file,
    /** Another connection to the file. */
    open: (options?: SqliteHandleOptions) => {
      const handle = driver.open(file, options);
      handles.push(handle);
      return handle;
    },
    /** Closes the handles that are open and removes the folder. */
    remove: () => {
      for (const handle of handles) {
        try {
          handle.close();
        } catch {
          // The test has closed it.
        }
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs `use` with a folder of its own. */
export async function withSqliteFolder(
  driver: SqliteDriver,
  use: (folder: SqliteFolder) => Promise<void> | void,
): Promise<void> {
  const folder = sqliteFolder(driver);
  try {
    await use(folder);
  } finally {
    folder.remove();
  }
}

/** What the cases with these titles do, each on a folder of its own. */
export type SqliteChecks = Readonly<
  Record<string, (folder: SqliteFolder, driver: SqliteDriver) => Promise<void> | void>
>;
