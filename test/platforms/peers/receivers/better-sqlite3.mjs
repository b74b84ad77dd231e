import Database from "better-sqlite3";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";

export const openStore = (_address, name) => sqliteStore({ database: new Database(`${name}.db`) });
