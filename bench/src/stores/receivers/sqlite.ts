import BetterSqlite3 from "better-sqlite3";
import { join } from "node:path";
import type * as sqlite from "identity-gateway-webhooks/sqlite";
import type { Place } from "../engines/engine.js";
import { LEASE_MS, newOwner, type Contenders } from "./contender.js";

const CREATE =
  "CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, owner TEXT, lease_until INTEGER, done_at INTEGER) WITHOUT ROWID";
const CLAIM = `INSERT INTO seen VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE
  SET owner = excluded.owner, lease_until = excluded.lease_until
  WHERE done_at IS NULL AND lease_until < ?`;
const COMPLETE = "UPDATE seen SET done_at = ? WHERE id = ? AND owner = ?";

function openFile({ folder, database }: Place): BetterSqlite3.Database {
  return new BetterSqlite3(join(folder, database));
}

/** `sqliteStore` through better-sqlite3 beside a prepared claim and a prepared completion, each with its own commit. */
export const throughBetterSqlite3: Contenders = {
  async ours(load, place) {
    const { sqliteStore } = await load<typeof sqlite>("sqlite");
    return { store: sqliteStore({ database: openFile(place) }) };
  },
  byHand(place) {
    const database = openFile(place);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.exec(CREATE);
    const claim = database.prepare(CLAIM);
    const complete = database.prepare(COMPLETE);
    return Promise.resolve((id) => {
      const [owner, now] = [newOwner(), Date.now()];
      const { changes } = claim.run(id, owner, now + LEASE_MS, now);
      return changes === 1 ? () => complete.run(Date.now(), id, owner) : undefined;
    });
  },
};
