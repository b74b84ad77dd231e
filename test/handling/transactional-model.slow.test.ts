import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import type { ProcessResult, TransactionalStore } from "../../src/index.js";
import { never } from "../support/deferred.js";
import {
  ConflictError,
  OUTCOMES,
  playPlans,
  type Fault,
  type Process,
  type Simulation,
} from "../support/simulation.js";

/** Where a transaction can go wrong. */
type Place = "begin" | "commit" | "rollback";

/** What a store gets wrong, to prove that it would be noticed. */
type Mistake =
  | "remembers in a transaction of its own"
  | "forgets to remember"
  | "commits what has failed"
  | "answers completed for what is in flight"
  | "takes a COMMIT that was a ROLLBACK for done";

interface Transaction {
  readonly key: string;
  writes: number;
  state: "open" | "committing" | "ended";
}

/** How often a store tries, where it meets what is SQLSTATE 40001 elsewhere. */
const ATTEMPTS = 3;

/** Makes an empty database, which outlives the processes that use it. `mistake` is its stores'. */
function createDatabase(mistake?: Mistake) {
  /** How many effects of each id are committed. */
  const effects = new Map<string, number>();
  const remembered = new Set<string>();
  const locks = new Map<string, Transaction>();

  const end = (tx: Transaction): void => {
    tx.state = "ended";
    if (locks.get(tx.key) === tx) locks.delete(tx.key);
  };
  const keep = (tx: Transaction): void => {
    if (tx.state === "ended") return;
    end(tx);
    effects.set(tx.key, (effects.get(tx.key) ?? 0) + tx.writes);
    if (mistake !== "forgets to remember") remembered.add(tx.key);
  };
  const open = (key: string): Transaction | ProcessResult => {
    if (remembered.has(key)) return { state: "completed" };
    if (locks.has(key)) {
      return mistake === "answers completed for what is in flight"
        ? { state: "completed" }
        : { state: "in_flight", retryAfterMs: 1_000 };
    }
    const tx: Transaction = { key, writes: 0, state: "open" };
    locks.set(key, tx);
    if (mistake === "remembers in a transaction of its own") remembered.add(key);
    return tx;
  };

  /** The store of one process. */
  const connect = ({ call, isGone }: Process<Place>) => {
    const opened = new Set<Transaction>();

    /** Where a request fails the connection is closed, which ends the transaction. */
    const request = async (tx: Transaction, place: Place, apply: () => void) => {
      try {
        await call(place, apply);
      } finally {
        end(tx);
      }
    };
    const begin = async (key: string): Promise<Transaction | ProcessResult> => {
      let said: Transaction | ProcessResult | undefined;
      try {
        await call("begin", () => {
          // A process that is gone meanwhile has no connection any more.
          if (isGone()) return;
          said = open(key);
          if ("writes" in said) opened.add(said);
        });
      } catch (error) {
        for (const tx of opened) if (tx === said) end(tx);
        throw error;
      }
      return said ?? never();
    };
    const attempt = async (
      key: string,
      work: (tx: Transaction) => Promise<void>,
    ): Promise<ProcessResult> => {
      const tx = await begin(key);
      if (!("writes" in tx)) return tx;
      try {
        await work(tx);
      } catch (error) {
        if (mistake === "commits what has failed") keep(tx);
        await request(tx, "rollback", () => undefined).catch(() => undefined);
        throw error;
      }
      if (tx.state === "ended") {
        if (mistake === "takes a COMMIT that was a ROLLBACK for done")
          return { state: "processed" };
        throw new Error("the connection was cut");
      }
      tx.state = "committing";
      await request(tx, "commit", () => keep(tx));
      return { state: "processed" };
    };
    const store: TransactionalStore<Transaction> = {
      async process(key, work) {
        for (let left = ATTEMPTS - 1; ; left--) {
          try {
            return await attempt(key, work);
          } catch (error) {
            if (!(error instanceof ConflictError) || left === 0) throw error;
          }
        }
      },
    };
    return {
      store,
      /** What is not yet on its way to COMMIT is rolled back. */
      cut() {
        for (const tx of opened) if (tx.state === "open") end(tx);
      },
      close() {
        for (const tx of opened) end(tx);
      },
    };
  };
  return { effects, connect };
}

/** Receivers on one database. An acknowledged delivery has exactly one effect, or none if it was discarded. */
const transactions =
  (mistake?: Mistake): Simulation<Place> =>
  (blame) => {
    const { effects, connect } = createDatabase(mistake);
    const discarded = new Set<string>();
    return {
      start(process) {
        const running = new Set<string>();
        const handler = ({ tx }: { readonly tx: Transaction }) => {
          const { key } = tx;
          if (running.has(key)) blame(`${key} runs twice at once in one process`);
          running.add(key);
          if (tx.state === "open") tx.writes += 1;
          return process.run((end) => {
            running.delete(key);
            if (end === "discards") discarded.add(key);
          });
        };
        return { ...connect(process), handler };
      },
      answered(id, { status, outcome }) {
        const count = effects.get(id) ?? 0;
        const isDiscarded = count === 0 && discarded.has(id) && outcome !== "handled";
        if (status === 200 && count !== 1 && !isDiscarded) {
          blame(`${id} is acknowledged as ${outcome} with ${count} effects`);
        }
      },
    };
  };

const happenings = {
  faults: fc.record({
    place: fc.constantFrom<Place>("begin", "commit", "commit", "rollback"),
    fault: fc.constantFrom<Fault>("rejects", "hangs", "loses the answer", "conflicts"),
  }),
  also: "cut",
  isRemote: fc.constant(true),
} as const;

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it("in any order of transactions, faults and crashes, an acknowledged delivery has exactly one effect", async () => {
  const parameters = { seed: 20_251_009, numRuns: 600 };
  const { broken, outcomes } = await playPlans(transactions(), happenings, parameters);
  expect(broken).toBeUndefined();
  // The plans reach every outcome of a genuine delivery.
  expect(outcomes).toEqual(OUTCOMES);
});

it.each<[Mistake, string]>([
  ["remembers in a transaction of its own", "with 0 effects"],
  ["forgets to remember", "2 effects"],
  ["commits what has failed", "with 0 effects"],
  ["answers completed for what is in flight", "with 0 effects"],
  ["takes a COMMIT that was a ROLLBACK for done", "with 0 effects"],
])("the transaction model detects a store that %s", async (mistake, fault) => {
  const parameters = { seed: 20_251_009, numRuns: 3_000 };
  const { broken } = await playPlans(transactions(mistake), happenings, parameters);
  expect(broken).toContain(fault);
});
