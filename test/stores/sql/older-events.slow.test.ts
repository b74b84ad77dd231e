import Database from "better-sqlite3";
import { transform } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { parseGatewayTime, type OnlineDataEvent } from "../../../src/index.js";
import { EVENT_TYPES } from "../../records/documented-values.js";
import { onlineDataEvent } from "../../support/deliveries.js";
import { readMarkdown, sectionOf } from "../../support/package/markdown.js";
import { databaseOf, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const page = sectionOf(readMarkdown("docs/handlers.md"), "## An older event may come later");
const [table = "", statement = "", mysqlInsert = "", mysqlUpdate = ""] = page.snippets("sql");
const [stateCode = ""] = page.snippets("ts");

type Row = readonly [kind: string, type: string];
type StateOf = (event: OnlineDataEvent) => (string | number)[];

/** A table of the page. `take` resolves to whether the event was taken. */
interface StateTable {
  readonly take: (values: (string | number)[]) => Promise<boolean>;
  readonly rows: (accountId: number) => Promise<readonly Row[]>;
}

/** `stateOf` as it stands in the page. */
async function readStateOf(): Promise<StateOf> {
  const { code } = await transform(stateCode, { loader: "ts", format: "cjs" });
  const module: { exports: { stateOf?: StateOf } } = { exports: {} };
  // oxlint-disable-next-line typescript/no-implied-eval -- the code of our own page
  const run = new Function("module", "require", code) as (...given: unknown[]) => void;
  run(module, () => ({ parseGatewayTime }));
  if (module.exports.stateOf === undefined) throw new Error("the page exports no stateOf");
  return module.exports.stateOf;
}

// By the pages' words, and not by their code.
const REMOVAL = [
  "DELETION_REQUEST_SENT",
  "USER_MANUAL_INSTRUCTIONS_SENT",
  "DATA_DELETED",
  "DATA_REAPPEARED",
];
const FOUND = ["PERSONAL_DATA_NOT_FOUND", "PERSONAL_DATA_FOUND"];
const kindOf = (type: string): readonly string[] =>
  [REMOVAL, FOUND].find((types) => types.includes(type)) ?? [type];

const EARLY = ["2026-07-08T12:00:00Z", "2026-07-08T14:00:00+02:00"] as const;
const LATE = ["2026-07-08T12:00:01Z", "2026-07-08T08:00:01-04:00"] as const;
const TIMES = [
  [EARLY[0], EARLY[1]],
  [EARLY[1], LATE[0]],
  [EARLY[0], LATE[1]],
  [LATE[1], EARLY[1]],
] as const;
/** Every pair of types at equal and different times, in both forms. */
const PAIRS = EVENT_TYPES.flatMap((one) =>
  EVENT_TYPES.flatMap((other) =>
    TIMES.map(([oneAt, otherAt]) => [
      { type: one, at: oneAt },
      { type: other, at: otherAt },
    ]),
  ),
);

/** The types that remain of two events: one for each kind, the newer and at one instant the one that warns more. */
function expectedTypes(pair: readonly { readonly type: string; readonly at: string }[]): string[] {
  const [one, other] = pair;
  if (one === undefined || other === undefined) throw new Error("a pair has two");
  const types = kindOf(one.type);
  if (!types.includes(other.type)) return [one.type, other.type].sort();
  const [atOne, atOther] = [Date.parse(one.at), Date.parse(other.at)];
  const rank = ({ type }: { readonly type: string }) => types.indexOf(type);
  const isOne = atOne > atOther || (atOne === atOther && rank(one) >= rank(other));
  return [isOne ? one.type : other.type];
}

function testTable(open: () => StateTable): void {
  let stateOf: StateOf;
  beforeAll(async () => {
    stateOf = await readStateOf();
  });
  const eventOf = (account_id: number, { type, at }: { type: string; at: string }) =>
    onlineDataEvent(type, { account_id, occurred_at: at }) as OnlineDataEvent;

  it("two events leave the same right rows in either order", async () => {
    const { take, rows } = open();
    for (const [index, pair] of PAIRS.entries()) {
      const accounts = [10_000 + index, 20_000 + index] as const;
      for (const event of pair) await take(stateOf(eventOf(accounts[0], event)));
      for (const event of [...pair].reverse()) await take(stateOf(eventOf(accounts[1], event)));
      const [one, other] = [await rows(accounts[0]), await rows(accounts[1])];
      expect(one, JSON.stringify(pair)).toEqual(other);
      expect(one.map(([, type]) => type).sort()).toEqual(expectedTypes(pair));
    }
  });

  it("a late deletion does not undo a reappearance", async () => {
    const { take, rows } = open();
    const reappeared = stateOf(eventOf(1, { type: "DATA_REAPPEARED", at: LATE[0] }));
    const deleted = stateOf(eventOf(1, { type: "DATA_DELETED", at: EARLY[0] }));
    const taken = [await take(reappeared), await take(deleted), await take(reappeared)];
    expect(taken).toEqual([true, false, false]);
    expect(await rows(1)).toEqual([["removal", "DATA_REAPPEARED"]]);
  });

  it("an event whose time cannot be read is taken", async () => {
    const { take, rows } = open();
    const odd = { type: "DATA_REAPPEARED", at: "2026-07-08T23:59:60Z" };
    expect(await take(stateOf(eventOf(3, odd)))).toBe(true);
    expect(await rows(3)).toEqual([["removal", "DATA_REAPPEARED"]]);
  });

  it("a type that the gateway adds later is a kind of its own", async () => {
    const { take, rows } = open();
    const added = { ...eventOf(2, { type: "DATA_DELETED", at: EARLY[0] }), type: "ADDED_2030" };
    expect(await take(stateOf(added as OnlineDataEvent))).toBe(true);
    expect(await rows(2)).toEqual([["ADDED_2030", "ADDED_2030"]]);
  });
}

describeSql("the statement of handlers.md takes only what is newer", (engine) => {
  const db = databaseOf(engine);
  beforeAll(async () => {
    await db.pool.query(table);
  });
  /** Takes an event in a transaction, or on a pool. */
  const takeOn = async (on: Sql, values: (string | number)[]): Promise<boolean> => {
    if (engine.name === "PostgreSQL") {
      return ((await on.query(statement, values)) as { rowCount: number }).rowCount > 0;
    }
    const [account = 0, site = 0, kind = "", type = "", time = 0, rank = 0] = values;
    await on.query(mysqlInsert, [account, site, kind]);
    const given = [type, time, rank, account, site, kind, time, rank];
    const [{ affectedRows }] = (await on.query(mysqlUpdate, given)) as [{ affectedRows: number }];
    return affectedRows > 0;
  };
  const rows = async (accountId: number): Promise<readonly Row[]> => {
    const sql = "SELECT kind, type FROM online_data_state WHERE account_id = ? ORDER BY kind";
    const found = await engine.rows(db.pool, sql, [accountId]);
    return found.map(({ kind, type }) => [String(kind), String(type)]);
  };
  testTable(() => ({ take: (values) => takeOn(db.pool, values), rows }));

  it.each(
    engine.isolations.flatMap((isolation) => [
      [isolation, "no row", []] as const,
      [isolation, "an older row", [["DATA_DELETED", 1]]] as const,
    ]),
  )(
    "at %s with %s, an event that waits for a newer one is not taken",
    async (isolation, _, held) => {
      const accountId = engine.isolations.indexOf(isolation) * 2 + held.length + 30_000;
      const values = (type: string, time: number) => [
        accountId,
        7,
        "removal",
        type,
        time,
        REMOVAL.indexOf(type),
      ];
      for (const [type, time] of held) await takeOn(db.pool, values(type, time));
      const pool = db.server.pool({ isolation });
      const [newer, older] = [await engine.connect(pool), await engine.connect(pool)];
      for (const one of [newer, older]) await one.query("BEGIN");
      expect(await takeOn(newer, values("DATA_REAPPEARED", 9))).toBe(true);
      const late = takeOn(older, values("DATA_DELETED", 8)).then(
        async (isTaken) => {
          await older.query("COMMIT");
          return isTaken;
        },
        // A serialization failure: the gateway is answered 503, and the next attempt finds the newer row.
        async () => {
          await older.query("ROLLBACK");
          return false;
        },
      );
      await expect.poll(() => engine.waitingForRows(db.pool)).toBeGreaterThan(0);
      await newer.query("COMMIT");
      expect(await late).toBe(false);
      for (const one of [newer, older]) one.release();
      expect(await rows(accountId)).toEqual([["removal", "DATA_REAPPEARED"]]);
    },
  );
});

describe("SQLite: the statement of handlers.md takes only what is newer", () => {
  const database = new Database(":memory:");
  database.exec(table);
  const take = database.prepare(statement.replaceAll(/\$\d/g, "?"));
  const rows = database.prepare(
    "SELECT kind, type FROM online_data_state WHERE account_id = ? ORDER BY kind",
  );
  testTable(() => ({
    take: (values) => Promise.resolve(take.run(...values).changes > 0),
    rows: (accountId) =>
      Promise.resolve(
        (rows.all(accountId) as { kind: string; type: string }[]).map(({ kind, type }) => [
          kind,
          type,
        ]),
      ),
  }));
});
