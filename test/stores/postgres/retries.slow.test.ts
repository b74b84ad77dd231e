import { describe, expect, it, vi } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };

/** The server's error for a transaction that must be retried. */
function failure(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code });
}

/** A pool whose first queries fail with `errors`. */
function failing(errors: readonly Error[], rows: readonly unknown[] = []) {
  const left = [...errors];
  const query = vi.fn(() => {
    const error = left.shift();
    const result = { rows, rowCount: rows.length, command: "SELECT" };
    return error === undefined ? Promise.resolve(result) : Promise.reject(error);
  });
  return { query };
}

describe("retries of postgresStore", () => {
  const [serialization, deadlock] = [failure("40001"), failure("40P01")];

  it.each([
    ["a serialization failure", [serialization]],
    ["a deadlock", [deadlock]],
    [
      "both, eleven times",
      Array.from({ length: 11 }, (_, i) => (i % 2 ? deadlock : serialization)),
    ],
  ])("postgresStore tries again after %s", async (_, errors) => {
    const pool = failing(errors, [{ state: "claimed", retry_after_ms: null }]);
    const claim = postgresStore({ pool }).claim("k", "a", TIMES);
    expect(await claim).toEqual({ state: "claimed", takeover: false });
    expect(pool.query).toHaveBeenCalledTimes(errors.length + 1);
  });

  it("postgresStore tries at most twelve times and rejects with the last error", async () => {
    const last = failure("40001");
    const pool = failing([...Array.from({ length: 11 }, () => deadlock), last, deadlock]);
    const store = postgresStore({ pool });
    await expect(store.complete("k", "a", { retentionMs: 1_000 })).rejects.toBe(last);
    expect(pool.query).toHaveBeenCalledTimes(12);
  });

  it("postgresStore tries again, at most twelve times, if its snapshot was too old", async () => {
    const pool = failing([]);
    const claim = postgresStore({ pool }).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow("overtaken by other changes 12 times");
    // Each attempt also reads why nothing was claimed.
    expect(pool.query).toHaveBeenCalledTimes(24);
  });

  it("postgresStore tries again after no other error", async () => {
    for (const error of [failure("23505"), failure("57P01"), new Error("lost"), "text", null]) {
      const query = vi.fn(() => Promise.reject(error as Error));
      await expect(
        postgresStore({ pool: { query } }).renew("k", "a", { leaseMs: 1_000 }),
      ).rejects.toBe(error);
      expect(query).toHaveBeenCalledOnce();
    }
  });

  it("postgresStore refuses the result of another statement", async () => {
    const pool = failing([], [{ state: "granted" }]);
    const claim = postgresStore({ pool }).claim("k", "a", TIMES);
    await expect(claim).rejects.toThrow("pool.query returned a row of another statement");
  });
});

describe("postgresTransactions", () => {
  const result = (command: string, rows: readonly unknown[] = []) => ({
    ...{ command, rows, rowCount: rows.length },
  });

  it.each([
    ["ROLLBACK", [result("RELEASE"), result("ROLLBACK")]],
    ["something else", result("SELECT")],
    ["nothing", []],
  ])("postgresTransactions rejects if the answer to COMMIT is %s", async (_, answer) => {
    const query = (text: string) => {
      const begun = result("SELECT", [{ state: "claimed", retry_after_ms: null, version: "1" }]);
      return Promise.resolve((text.endsWith("COMMIT") ? answer : begun) as typeof begun);
    };
    const [release, on, off] = [vi.fn(), vi.fn(), vi.fn()];
    const pool = { query, connect: () => Promise.resolve({ query, release, on, off }) };
    const process = postgresTransactions({ pool }).process("k", () => Promise.resolve(), TIMES);
    await expect(process).rejects.toThrow("rolled back at COMMIT");
    expect(release).toHaveBeenCalledExactlyOnceWith(undefined);
  });
});
