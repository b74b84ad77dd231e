import { afterEach, beforeEach, expect, it } from "vitest";
import { sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { libsql } from "../../support/sqlite/drivers.js";
import { sqliteFolder, type SqliteFolder } from "../../support/sqlite/folder.js";
import { committed, openLedger, writes } from "../../support/sqlite/transaction-cases.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";
import { recoverDelivery } from "../../../src/management/recover-delivery.js";

let folder: SqliteFolder;

beforeEach(() => {
  folder = sqliteFolder(libsql);
});

afterEach(() => {
  folder.remove();
});

it("a receiver on sqliteTransactions handles a burst of 100 deliveries once each, with their writes", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  const receiver = transactionalReceiver(store, ({ id, tx }) => writes(id)(tx));
  const ids = Array.from({ length: 100 }, (_, index) => `k${index}`);
  const requests = await Promise.all(ids.map((id) => delivery({ id })));
  const answers = await Promise.all(
    [...requests, ...requests].map((request) => receiver.receive(request)),
  );
  const outcomes = answers.map(({ outcome }) => outcome);
  expect(outcomes.slice(0, 100)).toEqual(Array(100).fill("handled"));
  // The first was running when its copy came. The other copies have waited.
  expect(outcomes.slice(100)).toEqual(["in_flight", ...Array<string>(99).fill("duplicate")]);
  for (const request of requests) {
    expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  }
  expect(committed(folder)).toEqual({ effects: [...ids].sort(), keys: [...ids].sort() });
});

it("recover on sqliteTransactions commits a lost delivery with its writes, once", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  const seen: unknown[] = [];
  const receiver = transactionalReceiver(store, (context) => {
    seen.push(context.recovered);
    return writes(context.id)(context.tx);
  });
  const { body } = await delivery({ id: "lost" });
  const lost = { id: "lost", type: "new_alarm", body: body as string };
  const together = await Promise.all([
    recoverDelivery(receiver, lost),
    recoverDelivery(receiver, lost),
  ]);
  expect(together.map(({ outcome }) => outcome)).toEqual(["handled", "in_flight"]);
  expect((await recoverDelivery(receiver, lost)).outcome).toBe("duplicate");
  expect(seen).toEqual([true]);
  expect(committed(folder)).toEqual({ effects: ["lost"], keys: ["lost"] });
});

it("a receiver on sqliteTransactions rolls a failed handler back and handles the next attempt", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  let attempt = 0;
  const receiver = transactionalReceiver(store, async ({ id, tx }) => {
    await writes(id)(tx);
    attempt += 1;
    if (attempt === 1) throw new Error("failed");
  });
  const request = await delivery({ id: "a" });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handler_failed" });
  expect(committed(folder)).toEqual({ effects: [], keys: [] });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
  expect(committed(folder)).toEqual({ effects: ["a"], keys: ["a"] });
});

it("a receiver on sqliteTransactions keeps nothing of a handler that writes after it failed", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  const late = deferred();
  let isFirst = true;
  let writing: Promise<void> | undefined;
  const receiver = transactionalReceiver(store, ({ id, tx }) => {
    if (!isFirst) return writes(id)(tx);
    isFirst = false;
    writing = late.promise.then(() => writes("late")(tx));
    throw new Error("failed");
  });
  const request = await delivery({ id: "a" });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handler_failed" });
  late.resolve();
  await expect(writing).rejects.toMatchObject({ code: "transaction_misuse" });
  expect(committed(folder)).toEqual({ effects: [], keys: [] });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
  expect(committed(folder)).toEqual({ effects: ["a"], keys: ["a"] });
});

it("a receiver on sqliteTransactions goes on after a handler left an iterator open", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  let attempt = 0;
  const receiver = transactionalReceiver(store, async ({ id, tx }) => {
    await writes(id)(tx);
    attempt += 1;
    tx.prepare("SELECT name FROM effects UNION SELECT 'another'").iterate().next();
    if (attempt === 1) throw new Error("failed");
  });
  const request = await delivery({ id: "a" });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handler_failed" });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
  const next = await delivery({ id: "b" });
  expect(await receiver.receive(next)).toMatchObject({ outcome: "handled" });
  expect(committed(folder)).toEqual({ effects: ["a", "b"], keys: ["a", "b"] });
});

it("a receiver on sqliteTransactions commits a handler that ends after handlerTimeoutMs and answers the retry 200", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  const end = deferred();
  const receiver = transactionalReceiver(
    store,
    async ({ id, tx }) => {
      await writes(id)(tx);
      await end.promise;
    },
    { handlerTimeoutMs: 50 },
  );
  const request = await delivery({ id: "a" });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handler_timeout" });
  expect(await receiver.receive(request)).toMatchObject({ status: 409, outcome: "in_flight" });
  end.resolve();
  await receiver.drain();
  expect(committed(folder)).toEqual({ effects: ["a"], keys: ["a"] });
});

it("a receiver on sqliteTransactions runs no handler for a delivery that was answered while it waited", async () => {
  const store = sqliteTransactions({ database: openLedger(folder) });
  const end = deferred();
  const ran: string[] = [];
  const receiver = transactionalReceiver(
    store,
    async ({ id }) => {
      ran.push(id);
      await end.promise;
    },
    { dependencyTimeoutMs: 60, handlerTimeoutMs: 60 },
  );
  const first = receiver.receive(await delivery({ id: "first" }));
  const late = await receiver.receive(await delivery({ id: "late" }));
  expect(late).toMatchObject({ status: 503, outcome: "overloaded" });
  end.resolve();
  await first;
  await receiver.drain();
  expect(ran).toEqual(["first"]);
  expect(committed(folder).keys).toEqual(["first"]);
});
