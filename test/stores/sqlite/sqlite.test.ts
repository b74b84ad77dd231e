import { describe, it } from "vitest";
import { sqliteContractCases } from "../../support/sqlite/sqlite-contract-cases.js";
import { betterSqlite3 } from "../../support/sqlite/sqlite-drivers.js";
import { sqliteLentCases } from "../../support/sqlite/sqlite-lent-cases.js";
import { sqliteMishapCases } from "../../support/sqlite/sqlite-mishap-cases.js";
import { sqliteQueueCases } from "../../support/sqlite/sqlite-queue-cases.js";
import { sqliteRetentionCases } from "../../support/sqlite/sqlite-retention-cases.js";
import { sqliteStoreCases } from "../../support/sqlite/sqlite-store-cases.js";
import { sqliteTransactionCases } from "../../support/sqlite/sqlite-transaction-cases.js";
import { sqliteWaitingCases } from "../../support/sqlite/sqlite-waiting-cases.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
const SLOW_DISK_MS = 300_000;

describe("sqliteStore on better-sqlite3, by two connections", () => {
  for (const { title, run } of sqliteContractCases(betterSqlite3)) it(title, run, SLOW_DISK_MS);
});

describe("sqliteStore on better-sqlite3", () => {
  for (const { title, run } of sqliteStoreCases(betterSqlite3)) it(title, run);
});

describe("the retention on better-sqlite3", () => {
  for (const { title, run } of sqliteRetentionCases(betterSqlite3)) it(title, run);
});

describe("sqliteTransactions on better-sqlite3", () => {
  for (const { title, run } of sqliteTransactionCases(betterSqlite3)) it(title, run);
});

describe("sqliteTransactions on better-sqlite3, with several deliveries at a time", () => {
  for (const { title, run } of sqliteQueueCases(betterSqlite3)) it(title, run);
});

describe("calls that wait on better-sqlite3", () => {
  for (const { title, run } of sqliteWaitingCases(betterSqlite3)) it(title, run);
});

describe("the tx of sqliteTransactions on better-sqlite3", () => {
  for (const { title, run } of sqliteLentCases(betterSqlite3)) it(title, run);
});

describe("a handle of better-sqlite3 that is misused", () => {
  for (const { title, run } of sqliteMishapCases(betterSqlite3)) it(title, run);
});
