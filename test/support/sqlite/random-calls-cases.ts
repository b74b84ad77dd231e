import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPromise } from "../../../src/common/promises.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { createRandom, type Random } from "../../../kit/random.js";
import { rowsOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";

const HOUR_MS = 3_600_000;
const TIMES = { leaseMs: HOUR_MS, retentionMs: HOUR_MS };
const KEYS = ["a", "b", "c", "d", "bad"];
const OWNERS = ["one", "two", "three"];
const ROUNDS = 60;
const VERBS = ["claim", "claim", "renew", "complete", "release"] as const;

interface Call {
  readonly verb: (typeof VERBS)[number];
  readonly key: string;
  readonly owner: string;
}

/** What a store should remember of a key. Completed keys have no owner. */
interface Row {
  readonly owner: string | undefined;
  readonly isEnded: boolean;
  readonly takeover: boolean;
}

/** One call after the other, without a file. */
class Model {
  readonly rows = new Map<string, Row>();

  /** The result as text. */
  apply({ verb, key, owner }: Call): string {
    const row = this.rows.get(key);
    const isOwn = row?.owner === owner;
    switch (verb) {
      case "claim": {
        if (key === "bad") return "poisoned";
        if (row !== undefined && row.owner === undefined) return "completed";
        if (row !== undefined && !row.isEnded && !isOwn) return "in_flight";
        const takeover = row !== undefined && (row.isEnded || row.takeover);
        this.rows.set(key, { owner, isEnded: false, takeover });
        return takeover ? "takeover" : "claimed";
      }
      case "renew":
        return String(isOwn && !row.isEnded);
      case "complete":
        if (key === "bad") return "poisoned";
        this.rows.set(key, { owner: undefined, isEnded: false, takeover: row?.takeover ?? false });
        return "undefined";
      case "release":
        if (isOwn && row.takeover) this.rows.set(key, { ...row, isEnded: true });
        else if (isOwn) this.rows.delete(key);
        return "undefined";
    }
  }

  endLeases(): void {
    for (const [key, row] of this.rows) {
      if (row.owner !== undefined) this.rows.set(key, { ...row, isEnded: true });
    }
  }
}

function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[random.below(values.length)];
  assert.ok(value !== undefined);
  return value;
}

/** A store on `database`, its results as text. */
function textStore(database: SqliteHandle) {
  const store = sqliteStore({ database, waitTimeoutMs: 60_000 });
  const textOf = (result: unknown): string => {
    if (typeof result !== "object" || result === null) return String(result);
    const { state, takeover } = result as { state: string; takeover?: boolean };
    return takeover === true ? "takeover" : state;
  };
  const failure = (error: unknown): string =>
    (/poisoned/.exec(String(error)) ?? [String(error)])[0];
  const run = ({ verb, key, owner }: Call): unknown =>
    verb === "release" ? store.release(key, owner) : store[verb](key, owner, TIMES);
  return (call: Call): string | Promise<string> => {
    try {
      const result = run(call);
      return isPromise(result) ? Promise.resolve(result).then(textOf, failure) : textOf(result);
    } catch (error) {
      return failure(error);
    }
  };
}

/** Calls that were made, with what they returned and what they should return. */
class Expectations {
  readonly #waiting: { call: Call; answer: Promise<string> }[] = [];

  constructor(readonly model: Model) {}

  add(call: Call, answer: string | Promise<string>): void {
    if (isPromise(answer)) this.#waiting.push({ call, answer: Promise.resolve(answer) });
    else assert.equal(answer, this.model.apply(call), JSON.stringify(call));
  }

  /** Waiting calls are served in their order, and claims after all others. */
  async settle(): Promise<void> {
    const waiting = this.#waiting.splice(0);
    const answers = await Promise.all(waiting.map(({ answer }) => answer));
    const served = waiting.map(({ call }, index) => ({ call, answer: answers[index] }));
    const isClaim = ({ call }: { call: Call }) => call.verb === "claim";
    const ordered = [...served.filter((each) => !isClaim(each)), ...served.filter(isClaim)];
    for (const { call, answer } of ordered) {
      assert.equal(answer, this.model.apply(call), JSON.stringify(call));
    }
  }
}

const ROWS = `SELECT key, owner, lease_ends_at <= (julianday('now') - 2440587.5) * 86400000, takeover
  FROM gateway_deliveries ORDER BY key`;

function sameRows(database: SqliteHandle, model: Model): void {
  const expected = [...model.rows].sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(
    rowsOf(database, ROWS),
    expected.map(([key, { owner, isEnded, takeover }]) =>
      owner === undefined
        ? [key, null, null, Number(takeover)]
        : [key, owner, Number(isEnded), Number(takeover)],
    ),
  );
}

async function compare({ open }: SqliteFolder, seed: number): Promise<void> {
  const random = createRandom(seed);
  const [database, stranger] = [open(), open()];
  const [store, elsewhere] = [textStore(database), textStore(stranger)];
  // Faster: the same rows, without waiting for the disk.
  for (const handle of [database, stranger]) handle.exec("PRAGMA synchronous = OFF");
  stranger.exec(`CREATE TRIGGER poison BEFORE INSERT ON gateway_deliveries WHEN new.key = 'bad'
    BEGIN SELECT RAISE(ABORT, 'poisoned'); END`);
  const model = new Model();
  const calls = new Expectations(model);
  const randomCall = (): Call => ({
    verb: pick(random, VERBS),
    key: pick(random, KEYS),
    owner: pick(random, OWNERS),
  });
  for (let round = 0; round < ROUNDS; round++) {
    const isLocked = random.below(3) === 0;
    if (isLocked) stranger.exec("BEGIN IMMEDIATE");
    for (let turns = 1 + random.below(3); turns > 0; turns--) {
      for (let count = random.below(12); count > 0; count--) {
        const call = randomCall();
        calls.add(call, store(call));
      }
      if (!isLocked) await calls.settle();
      await nextTurn();
    }
    if (isLocked) stranger.exec("COMMIT");
    await calls.settle();
    const call = randomCall();
    assert.equal(await elsewhere(call), model.apply(call), JSON.stringify(call));
    if (random.below(4) === 0) {
      stranger.exec("UPDATE gateway_deliveries SET lease_ends_at = 1 WHERE owner IS NOT NULL");
      model.endLeases();
    }
    sameRows(stranger, model);
    if (random.below(20) === 0) {
      stranger.exec("DELETE FROM gateway_deliveries");
      model.rows.clear();
    }
  }
}

/** Random calls on a grouped store, compared with a model. */
export const randomCallsChecks: SqliteChecks = Object.fromEntries(
  [1, 2, 3, 4, 5].map((seed) => [
    `sqliteStore answers random calls as a model that takes one after the other, seed ${seed}`,
    (folder) => compare(folder, seed),
  ]),
);
