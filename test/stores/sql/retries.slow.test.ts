import { describe, expect, it, vi } from "vitest";
import { mysqlStore } from "../../../src/stores/mysql/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { TIMES } from "../../support/stores/store-cases.js";

/** The server's error with this code. */
function failure(code: number | string): Error {
  const known = typeof code === "number" ? { errno: code } : { code };
  return Object.assign(new Error(`failed with ${String(code)}`), known);
}

/** Clients of both servers whose first queries fail with `errors`, and that answer the others with `results`. */
function failing(errors: readonly unknown[], results: readonly unknown[]) {
  const [left, answers] = [[...errors], [...results]];
  const isOver = () => left.length === 0;
  const query = vi.fn(() => {
    const result = answers.length > 1 && isOver() ? answers.shift() : answers[0];
    return isOver() ? Promise.resolve(result as never) : Promise.reject(left.shift());
  });
  const [release, destroy] = [vi.fn(), vi.fn()];
  /** A ROLLBACK succeeds, and is not counted. */
  const send = (given: unknown) =>
    JSON.stringify(given).includes("ROLLBACK") ? Promise.resolve(NOTHING) : query();
  const connection = { query: send, release, destroy, on: vi.fn(), off: vi.fn() };
  return { getConnection: () => Promise.resolve(connection), query, release, destroy };
}

const result = (command: string, rows: readonly unknown[] = []) => ({
  command,
  rows,
  rowCount: rows.length,
});
const CLAIMED = result("SELECT", [{ state: "claimed", retry_after_ms: null, version: "1" }]);
const NOTHING = [{ affectedRows: 0, serverStatus: 2 }];

type Pool = ReturnType<typeof failing>;

const ENGINES = [
  {
    name: "mysqlStore",
    makeStore: (pool: Pool) => mysqlStore({ pool }),
    again: [failure(1213), failure(1205)],
    last: failure(1213),
    never: [failure(1062), failure(1146)],
    done: [{ affectedRows: 1, serverStatus: 2 }],
    overtaken: { answer: NOTHING, queries: 48 },
    other: [NOTHING, [[{ state: "granted" }]]],
    refusal: "the connection returned a row of another statement",
    keepsConnections: true,
  },
  {
    name: "postgresStore",
    makeStore: (pool: Pool) => postgresStore({ pool }),
    again: [failure("40P01"), failure("40001")],
    last: failure("40001"),
    never: [failure("23505"), failure("57P01")],
    done: CLAIMED,
    // Each attempt also reads why nothing was claimed.
    overtaken: { answer: result("SELECT"), queries: 24 },
    other: [result("SELECT", [{ state: "granted" }])],
    refusal: "pool.query returned a row of another statement",
    keepsConnections: false,
  },
] as const;

describe.each(ENGINES)("retries of $name", (engine) => {
  const { name, makeStore, again, done, keepsConnections } = engine;
  const [deadlock, other] = again;

  it(`${name} tries again after eleven conflicts of two kinds, and closes no connection`, async () => {
    const eleven = Array.from({ length: 11 }, (_, i) => (i % 2 ? deadlock : other));
    const pool = failing(eleven, [done]);
    const claim = makeStore(pool).claim("k", "a", TIMES);
    expect(await claim).toEqual({ state: "claimed", takeover: false });
    expect(pool.query).toHaveBeenCalledTimes(12);
    expect(pool.release).toHaveBeenCalledTimes(keepsConnections ? 12 : 0);
    expect(pool.destroy).not.toHaveBeenCalled();
  });

  it(`${name} tries at most twelve times`, async () => {
    const deadlocks = Array.from({ length: 11 }, () => deadlock);
    const pool = failing([...deadlocks, engine.last, deadlock], [done]);
    const complete = makeStore(pool).complete("k", "a", { retentionMs: 1_000 });
    await expect(complete).rejects.toBe(engine.last);
    expect(pool.query).toHaveBeenCalledTimes(12);
  });

  it(`${name} tries at most twelve times if other changes overtake it`, async () => {
    const pool = failing([], [engine.overtaken.answer]);
    const claim = makeStore(pool).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow("overtaken by other changes 12 times");
    expect(pool.query).toHaveBeenCalledTimes(engine.overtaken.queries);
  });

  it(`${name} tries again after no other error`, async () => {
    for (const error of [...engine.never, new Error("lost"), "text", null]) {
      const pool = failing([error], [done]);
      const renew = makeStore(pool).renew("k", "a", { leaseMs: 1_000 });
      await expect(renew).rejects.toBe(error);
      expect(pool.query).toHaveBeenCalledOnce();
      expect(pool.destroy).toHaveBeenCalledTimes(keepsConnections ? 1 : 0);
    }
  });

  it(`${name} refuses the result of another statement`, async () => {
    const claim = makeStore(failing([], engine.other)).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow(engine.refusal);
  });
});

it("mysqlStore keeps the connection of a statement ended in time", async () => {
  const pool = failing([failure(1969)], [NOTHING]);
  await expect(mysqlStore({ pool }).claim("k", "a", TIMES)).rejects.toHaveProperty("errno", 1969);
  expect(pool.release).toHaveBeenCalledOnce();
  expect(pool.destroy).not.toHaveBeenCalled();
});

it.each([
  ["ROLLBACK", [result("RELEASE"), result("ROLLBACK")]],
  ["something else", result("SELECT")],
  ["nothing", []],
])("postgresTransactions rejects if the answer to COMMIT is %s", async (_, answer) => {
  const query = (text: string) =>
    Promise.resolve((text.endsWith("COMMIT") ? answer : CLAIMED) as typeof CLAIMED);
  const [release, on, off] = [vi.fn(), vi.fn(), vi.fn()];
  const pool = { query, connect: () => Promise.resolve({ query, release, on, off }) };
  const process = postgresTransactions({ pool }).process("k", () => Promise.resolve(), TIMES);
  await expect(process).rejects.toThrow("rolled back at COMMIT");
  expect(release).toHaveBeenCalledExactlyOnceWith(undefined);
});
