import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import type { DeliveryStore, WebhookReceiver } from "../../../src/index.js";
import { createWebhookReceiver } from "../../../src/index.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { NOW_MS, TEST_SECRET, delivery } from "../deliveries.js";
import { valueOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";

const STORES = { sqliteStore, sqliteTransactions };
/** A look at the file that finds it gone. */
const LOST = ["store_unavailable", "file_lost"];
const HANDLED = ["handled", undefined];

/** A receiver on each store, with what `send` got and what was logged as an error. */
async function withReceivers(
  { open }: SqliteFolder,
  use: (receiver: {
    readonly send: (id: string) => Promise<unknown[]>;
    readonly wait: (ms: number) => void;
    readonly errorLines: () => number;
    readonly database: SqliteHandle;
  }) => Promise<void>,
): Promise<void> {
  const real = performance.now.bind(performance);
  let waitedMs = 0;
  performance.now = () => real() + waitedMs;
  const wait = (ms: number): void => void (waitedMs += ms);
  try {
    for (const makeStore of Object.values(STORES)) {
      let errorLines = 0;
      let error: unknown;
      const database = open();
      const receiver: WebhookReceiver = createWebhookReceiver({
        secret: TEST_SECRET,
        now: () => NOW_MS,
        store: makeStore({ database }) as DeliveryStore,
        handlers: { new_alarm: () => undefined },
        onOutcome: (report) => void (error = report.error),
        logger: { warn: () => undefined, error: () => void (errorLines += 1) },
      });
      const send = async (id: string): Promise<unknown[]> => {
        const { outcome } = await receiver.receive(await delivery({ id }));
        return [outcome, (error as { readonly code?: string } | undefined)?.code];
      };
      await use({ send, wait, errorLines: () => errorLines, database });
    }
  } finally {
    performance.now = real;
  }
}

/** What the SQLite stores do when something happens to their file. */
export const fileChecks: SqliteChecks = {
  async "a receiver answers store_unavailable within a minute after its SQLite file was deleted, with one error line"(
    folder,
  ) {
    await withReceivers(folder, async ({ send, wait, errorLines }) => {
      assert.deepEqual(await send("a"), HANDLED);
      rmSync(folder.file);
      wait(60_000);
      for (const id of ["a", "b", "c"]) assert.deepEqual(await send(id), LOST);
      assert.equal(errorLines(), 1);
    });
  },

  async "a receiver answers store_unavailable after its SQLite file was emptied or another put in its place"(
    folder,
  ) {
    const replace = (): void => {
      copyFileSync(folder.file, `${folder.file}.copy`);
      renameSync(`${folder.file}.copy`, folder.file);
    };
    const empty = (): void => truncateSync(folder.file);
    for (const damage of [replace, empty]) {
      await withReceivers(folder, async ({ send, wait }) => {
        assert.deepEqual(await send(crypto.randomUUID()), HANDLED);
        damage();
        wait(60_000);
        assert.deepEqual(await send("b"), LOST);
        for (const end of ["", "-wal", "-shm"]) rmSync(folder.file + end);
      });
    }
  },

  async "a receiver handles deliveries again at once when its SQLite file was moved away and back"(
    folder,
  ) {
    await withReceivers(folder, async ({ send, wait }) => {
      const ids = [crypto.randomUUID(), crypto.randomUUID()] as const;
      assert.deepEqual(await send(ids[0]), HANDLED);
      renameSync(folder.file, `${folder.file}.away`);
      wait(60_000);
      assert.deepEqual(await send(ids[1]), LOST);
      renameSync(`${folder.file}.away`, folder.file);
      assert.deepEqual(await send(ids[1]), HANDLED);
      assert.deepEqual(await send(ids[0]), ["duplicate", undefined]);
    });
  },

  async "on a full disk new deliveries are refused, and none of those that were handled is forgotten"(
    folder,
  ) {
    await withReceivers(folder, async ({ send, database }) => {
      const handled: string[] = [];
      // The least that SQLite takes is what the file has, so the next page that is needed is one too many.
      database.exec("PRAGMA max_page_count = 1");
      let refused = crypto.randomUUID();
      for (let outcome = await send(refused); outcome[0] === "handled";) {
        handled.push(refused);
        outcome = await send((refused = crypto.randomUUID()));
      }
      assert.equal((await send(refused))[0], "store_unavailable");
      for (const id of handled) assert.deepEqual(await send(id), ["duplicate", undefined]);
      database.exec("PRAGMA max_page_count = 1000000");
      assert.deepEqual(await send(refused), HANDLED);
    });
  },

  async "the -wal file that a long reader has let grow is small again after some deliveries"(
    folder,
  ) {
    const [reader, writer] = [folder.open(), folder.open()];
    await withReceivers(folder, async ({ send }) => {
      writer.exec("CREATE TABLE IF NOT EXISTS pages (page BLOB)");
      reader.exec("BEGIN");
      valueOf(reader, "SELECT count(*) FROM pages");
      writer.exec("INSERT INTO pages VALUES (zeroblob(20000000))");
      reader.exec("COMMIT");
      for (let i = 0; i < 3; i += 1) await send(crypto.randomUUID());
      assert.ok(statSync(`${folder.file}-wal`).size <= 2 ** 23);
    });
  },

  "the SQLite stores keep the journal_size_limit that the handle has"({ open }) {
    const database = open();
    database.exec("PRAGMA journal_size_limit = 1000");
    sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA journal_size_limit"), 1000);
  },
};
