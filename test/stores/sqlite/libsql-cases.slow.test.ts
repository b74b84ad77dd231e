import { describe, it } from "vitest";
import { allCases } from "../../support/sqlite/all-cases.js";
import { libsql } from "../../support/sqlite/drivers.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
const SLOW_DISK_MS = 300_000;

describe("the SQLite stores on libsql", () => {
  for (const { title, run } of allCases(libsql)) it(title, run, SLOW_DISK_MS);
});
