import Database from "better-sqlite3";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";
import { withLeases } from "../lease-receiver.js";

export const makeReceiver = withLeases(({ databaseFile }) =>
  sqliteStore({ database: new Database(databaseFile) }),
);
