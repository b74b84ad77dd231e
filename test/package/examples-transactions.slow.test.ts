import Sqlite from "better-sqlite3";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { mysqlEngine } from "../support/mysql/mysql-engine.js";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";
import { postgresEngine } from "../support/postgres/postgres-engine.js";
import { startedForAll } from "../support/started-for-all.js";
import type { SqlEngine } from "../support/stores/sql-engine.js";
import { temporaryFolder } from "../support/temporary-folder.js";

/** The database of an example. */
interface Database {
  readonly variables: Readonly<Record<string, string>>;
  /** Runs a statement beside the example. */
  readonly rows: (sql: string, values?: readonly unknown[]) => unknown;
  readonly close: () => unknown;
}

/** The statements after which no alarm of account 43 can be written, and after which it can again. */
const CONSTRAINT = [
  "ALTER TABLE alarms ADD CONSTRAINT refused CHECK (account_id <> 43)",
  "ALTER TABLE alarms DROP CONSTRAINT refused",
] as const;
const TRIGGER = [
  `CREATE TRIGGER refused BEFORE INSERT ON alarms WHEN NEW.account_id = 43
    BEGIN SELECT RAISE(ABORT, 'refused'); END`,
  "DROP TRIGGER refused",
] as const;

const folder = temporaryFolder(afterAll);

async function onServer(
  engine: SqlEngine,
  variablesOf: (port: number) => Database["variables"],
): Promise<Database> {
  const server = await engine.start();
  const pool = server.pool();
  return {
    variables: variablesOf(server.port),
    rows: (sql, values) => engine.rows(pool, sql, values),
    close: () => server.close(),
  };
}

const mysql = () =>
  onServer(mysqlEngine, (port) => ({ MYSQL_URL: `mysql://root@127.0.0.1:${port}/test` }));

const postgres = () =>
  onServer(postgresEngine, (port) => ({
    DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres`,
  }));

function sqlite(): Promise<Database> {
  const file = folder.at("alarms.db");
  const database = new Sqlite(file);
  const rows: Database["rows"] = (sql, values = []) => {
    const statement = database.prepare(sql);
    return statement.reader ? statement.all(...values) : statement.run(...values);
  };
  const variables = { DATABASE_FILE: file };
  return Promise.resolve({ variables, rows, close: () => database.close() });
}

// The driver of PostgreSQL returns a bigint as a text.
const EXAMPLES = [
  ["mysql.ts", mysqlEngine.describe, mysql, CONSTRAINT, Number],
  ["postgres.ts", postgresEngine.describe, postgres, CONSTRAINT, String],
  ["postgres-kysely.ts", postgresEngine.describe, postgres, CONSTRAINT, String],
  ["postgres-drizzle.ts", postgresEngine.describe, postgres, CONSTRAINT, String],
  ["sqlite.ts", describe, sqlite, TRIGGER, Number],
] as const;

for (const [file, describeExample, open, [refuse, allow], accountId] of EXAMPLES) {
  describeExample(`examples/${file}`, () => {
    const database = startedForAll(open);
    let example: ExampleProcess;

    const start = async () => {
      example = await startExample(file, database().variables);
    };
    beforeEach(start);
    afterEach(() => example.kill());

    const alarmsOf = (id: string) =>
      database().rows("SELECT account_id, event_type FROM alarms WHERE delivery_id = ?", [id]);
    const row = (account: number) => [
      { account_id: accountId(account), event_type: "email_hacked" },
    ];

    it(`examples/${file} writes an alarm once, prints it, and shuts down in order on SIGTERM`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await post(example.url, sent)).toEqual(DUPLICATE);
      expect(await example.terminate()).toEqual([0, null]);
      expect(example.printed).toEqual([`${sent.id}: email_hacked, severity High`]);
      expect(await alarmsOf(sent.id)).toEqual(row(42));
    });

    it(`examples/${file} remembers the handled deliveries after kill -9`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      await example.kill();
      await start();
      expect(await post(example.url, sent)).toEqual(DUPLICATE);
      expect(await alarmsOf(sent.id)).toHaveLength(1);
    });

    it(`examples/${file} keeps neither alarm nor delivery if the transaction fails`, async () => {
      await database().rows(refuse);
      const sent = await freshAlarm({ account_id: 43 });
      const failed = { status: 500, error: { code: "HANDLER_FAILED" } };
      expect(await post(example.url, sent)).toMatchObject(failed);
      expect(await alarmsOf(sent.id)).toEqual([]);
      await database().rows(allow);
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await alarmsOf(sent.id)).toEqual(row(43));
    });
  });
}
