import { ensure } from "./store-verbs.js";
import { ensureInFlight, raced, whileOpen } from "./transaction-race-checks.js";
import type { TransactionChecks, TransactionVerbs } from "./transaction-verbs.js";

const recordKey = "the record";
const FAILURE = new Error("the handler failed");

/** Rules for the second key of a delivery, that of its record. */
export const transactionRecordChecks = {
  async record(store) {
    await store.processed("first", { recordKey });
    await knownRecord(store.other, "second");
    await store.completed("second");
    await store.rows(["first"]);
    await store.processed("third", { recordKey: "another record" });
  },
  async "record-fails"(store) {
    await store.failed("first", FAILURE, recordKey);
    await store.other.processed("second", { recordKey });
    await knownRecord(store, "first");
    await store.rows(["second"]);
  },
  async "record-open"(store) {
    const copy = (): ReturnType<typeof store.process> =>
      store.other.process("copy", { recordKey, row: "copy" });
    ensureInFlight((await whileOpen(store, copy, undefined, recordKey)).before);
    // One that has waited is remembered by now. Any other one is as soon as it comes again.
    const again = await copy();
    ensure(again.state === "completed", "the copy must be completed", again);
    await store.rows(["k"]);
  },
  async "record-race"(store) {
    await raced(store, (client, at, handler) =>
      client.process(`k${at}`, { ...handler, row: "k", recordKey }),
    );
    await knownRecord(store, "late");
  },
} satisfies TransactionChecks;

/** Expects that a new key is completed without its handler, because its record was handled. */
async function knownRecord(store: TransactionVerbs, key: string): Promise<void> {
  const result = await store.process(key, { recordKey, row: `${key} again` });
  const isKnown = result.state === "completed" && result.sameRecord === true;
  ensure(isKnown, `${key} must be completed, with sameRecord`, result);
}
