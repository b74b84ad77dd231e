import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();
let example: ExampleProcess;

const start = () => startExample("sqlite.ts", { DATABASE_FILE: folder.at("alarms.db") });

beforeEach(async () => {
  example = await start();
});
afterEach(() => example.kill());

/** Reads and changes the database file beside the example. */
function withFile<T>(use: (database: Sqlite.Database) => T): T {
  const database = new Sqlite(folder.at("alarms.db"));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function alarmsOf(id: string): unknown[] {
  return withFile((database) =>
    database.prepare("SELECT account_id, event_type FROM alarms WHERE delivery_id = ?").all(id),
  );
}

it("examples/sqlite.ts writes an alarm once, prints it, and shuts down in order on SIGTERM", async () => {
  const sent = await freshAlarm();
  expect(await post(example.url, sent)).toEqual(HANDLED);
  expect(await post(example.url, sent)).toEqual(DUPLICATE);
  expect(await example.terminate()).toEqual([0, null]);
  expect(example.printed).toEqual([`${sent.id}: email_hacked, severity High`]);
  expect(alarmsOf(sent.id)).toEqual([{ account_id: 42, event_type: "email_hacked" }]);
});

it("examples/sqlite.ts remembers the handled deliveries after kill -9, as its first line says", async () => {
  const sent = await freshAlarm();
  expect(await post(example.url, sent)).toEqual(HANDLED);
  await example.kill();
  example = await start();
  expect(await post(example.url, sent)).toEqual(DUPLICATE);
  expect(alarmsOf(sent.id)).toHaveLength(1);
});

it("examples/sqlite.ts keeps neither alarm nor delivery if the transaction fails", async () => {
  withFile((database) =>
    database.exec(`CREATE TRIGGER refused BEFORE INSERT ON alarms WHEN NEW.account_id = 43
        BEGIN SELECT RAISE(ABORT, 'refused'); END`),
  );
  const sent = await freshAlarm({ account_id: 43 });
  expect(await post(example.url, sent)).toMatchObject({
    ...{ status: 500, error: { code: "HANDLER_FAILED" } },
  });
  expect(alarmsOf(sent.id)).toEqual([]);
  withFile((database) => database.exec("DROP TRIGGER refused"));
  expect(await post(example.url, sent)).toEqual(HANDLED);
  expect(alarmsOf(sent.id)).toEqual([{ account_id: 43, event_type: "email_hacked" }]);
});
