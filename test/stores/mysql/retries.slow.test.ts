import { describe, expect, it, vi } from "vitest";
import { mysqlStore } from "../../../src/stores/mysql/index.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };

/** The server's error for a statement that may be tried again. */
function failure(errno: number): Error {
  return Object.assign(new Error(`failed with ${String(errno)}`), { errno });
}

/** A pool whose first statements fail with `errors`, and that answers the others with `results`. */
function failing(errors: readonly Error[], results: readonly unknown[]) {
  const [left, answers] = [[...errors], [...results]];
  const query = vi.fn(() => {
    const error = left.shift();
    const result = answers.length > 1 ? answers.shift() : answers[0];
    return error === undefined ? Promise.resolve([result]) : Promise.reject(error);
  });
  const [release, destroy] = [vi.fn(), vi.fn()];
  const connection = { query, release, destroy, on: vi.fn(), off: vi.fn() };
  return { getConnection: () => Promise.resolve(connection), query, release, destroy };
}

const DONE = { affectedRows: 1, serverStatus: 2 };
const NOTHING = { affectedRows: 0, serverStatus: 2 };

describe("retries of mysqlStore", () => {
  const [deadlock, waited] = [failure(1213), failure(1205)];

  it.each([
    ["a deadlock", [deadlock]],
    ["a lock wait time-out", [waited]],
    ["both, eleven times", Array.from({ length: 11 }, (_, i) => (i % 2 ? deadlock : waited))],
  ])("mysqlStore tries again after %s, and keeps its connections", async (_, errors) => {
    const pool = failing(errors, [DONE]);
    const claim = mysqlStore({ pool }).claim("k", "a", TIMES);
    expect(await claim).toEqual({ state: "claimed", takeover: false });
    expect(pool.query).toHaveBeenCalledTimes(errors.length + 1);
    expect(pool.release).toHaveBeenCalledTimes(errors.length + 1);
    expect(pool.destroy).not.toHaveBeenCalled();
  });

  it("mysqlStore tries at most twelve times and rejects with the last error", async () => {
    const last = failure(1213);
    const pool = failing([...Array.from({ length: 11 }, () => deadlock), last, deadlock], [DONE]);
    const store = mysqlStore({ pool });
    await expect(store.complete("k", "a", { retentionMs: 1_000 })).rejects.toBe(last);
    expect(pool.query).toHaveBeenCalledTimes(12);
  });

  it("mysqlStore tries again, at most twelve times, if other changes overtake it", async () => {
    const pool = failing([], [NOTHING]);
    const claim = mysqlStore({ pool }).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow("overtaken by other changes 12 times");
    expect(pool.query).toHaveBeenCalledTimes(48);
  });

  it("mysqlStore tries again after no other error, and closes the connection", async () => {
    for (const error of [failure(1062), failure(1146), new Error("lost"), "text", null]) {
      const pool = failing([error as Error], [DONE]);
      await expect(mysqlStore({ pool }).renew("k", "a", { leaseMs: 1_000 })).rejects.toBe(error);
      expect(pool.query).toHaveBeenCalledOnce();
      expect(pool.destroy).toHaveBeenCalledOnce();
    }
  });

  it("mysqlStore keeps the connection of a statement that the server ended in time", async () => {
    const pool = failing([failure(1969)], [DONE]);
    await expect(mysqlStore({ pool }).claim("k", "a", TIMES)).rejects.toHaveProperty("errno", 1969);
    expect(pool.release).toHaveBeenCalledOnce();
    expect(pool.destroy).not.toHaveBeenCalled();
  });

  it("mysqlStore refuses the row of another statement", async () => {
    const pool = failing([], [NOTHING, [{ state: "granted" }]]);
    const claim = mysqlStore({ pool }).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow("the connection returned a row of another statement");
  });
});
