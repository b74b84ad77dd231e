import Database from "libsql";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";

export const openStore = (_address, name) => sqliteStore({ database: new Database(`${name}.db`) });
