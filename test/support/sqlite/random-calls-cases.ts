import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createRandom } from "../../../kit/random.js";
import { referenceStore } from "../../../kit/store-contract/reference-store.js";
import { isPromise } from "../../../src/common/promises.js";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";

const LEASE_MS = 3_600_000;
/** Nothing is forgotten. */
const TIMES = { leaseMs: LEASE_MS, retentionMs: 1_000 * LEASE_MS };
const KEYS = ["a", "b", "c", "d", "bad"];
const OWNERS = ["one", "two", "three"];
const ROUNDS = 60;
const VERBS = ["claim", "claim", "renew", "complete", "release"] as const;

interface Call {
  readonly verb: (typeof VERBS)[number];
  readonly key: string;
  readonly owner: string;
}

/** What is compared of a result. */
function shown(result: unknown): string {
  return typeof result === "object"
    ? JSON.stringify(result, ["state", "takeover"])
    : String(result);
}

function failed(error: unknown): string {
  return (/poisoned/.exec(String(error)) ?? [String(error)])[0];
}

function callOn(store: DeliveryStore, { verb, key, owner }: Call): string | Promise<string> {
  try {
    const result: unknown = store[verb](key, owner, TIMES);
    return isPromise(result) ? Promise.resolve(result).then(shown, failed) : shown(result);
  } catch (error) {
    return failed(error);
  }
}

async function compare({ open }: SqliteFolder, seed: number): Promise<void> {
  const random = createRandom(seed);
  const [database, stranger] = [open(), open()];
  const [store, elsewhere] = [database, stranger].map((handle) =>
    sqliteStore({ database: handle, waitTimeoutMs: 60_000 }),
  ) as [DeliveryStore, DeliveryStore];
  // Faster: the same rows, without waiting for the disk.
  for (const handle of [database, stranger]) handle.exec("PRAGMA synchronous = OFF");
  stranger.exec(`CREATE TRIGGER poison BEFORE INSERT ON gateway_deliveries WHEN new.key = 'bad'
    BEGIN SELECT RAISE(ABORT, 'poisoned'); END`);

  let ms = 0;
  let reference = referenceStore(() => ms);
  const compareCall = (call: Call, answer: string | undefined): void => {
    const isPoisoned = call.key === "bad" && (call.verb === "claim" || call.verb === "complete");
    assert.equal(answer, isPoisoned ? "poisoned" : callOn(reference, call), JSON.stringify(call));
  };
  const waiting: { call: Call; answer: Promise<string> }[] = [];
  /** Waiting calls are served in their order, and claims after all others. */
  const settle = async (): Promise<void> => {
    const calls = waiting.splice(0);
    const answers = await Promise.all(calls.map(({ answer }) => answer));
    const served = calls.map(({ call }, index) => ({ call, answer: answers[index] }));
    const others = served.filter(({ call }) => call.verb !== "claim");
    const claims = served.filter(({ call }) => call.verb === "claim");
    for (const { call, answer } of [...others, ...claims]) compareCall(call, answer);
  };
  const randomCall = (): Call => ({
    verb: random.pick(VERBS),
    key: random.pick(KEYS),
    owner: random.pick(OWNERS),
  });

  for (let round = 0; round < ROUNDS; round++) {
    const isLocked = random.below(3) === 0;
    if (isLocked) stranger.exec("BEGIN IMMEDIATE");
    for (let turns = 1 + random.below(3); turns > 0; turns--) {
      for (let count = random.below(12); count > 0; count--) {
        const call = randomCall();
        const answer = callOn(store, call);
        if (isPromise(answer)) waiting.push({ call, answer: Promise.resolve(answer) });
        else compareCall(call, answer);
      }
      if (!isLocked) await settle();
      await nextTurn();
    }
    if (isLocked) stranger.exec("COMMIT");
    await settle();
    if (random.below(4) === 0) {
      stranger.exec("UPDATE gateway_deliveries SET lease_ends_at = 1 WHERE owner IS NOT NULL");
      ms += LEASE_MS;
    }
    // What the rows hold, in the eyes of another process.
    for (const key of KEYS) {
      const call = { verb: random.pick(VERBS), key, owner: random.pick([...OWNERS, "four"]) };
      compareCall(call, await callOn(elsewhere, call));
    }
    if (random.below(20) === 0) {
      stranger.exec("DELETE FROM gateway_deliveries");
      reference = referenceStore(() => ms);
    }
  }
}

/** Random calls on a grouped store, compared with the store in the documentation, which takes one after the other. */
export const randomCallsChecks: SqliteChecks = Object.fromEntries(
  [1, 2, 3, 4, 5].map((seed) => [
    `sqliteStore answers random calls as a store that takes one after the other, seed ${seed}`,
    (folder) => compare(folder, seed),
  ]),
);
