import assert from "node:assert/strict";
import {
  deliveryStoreContract,
  type DeliveryStoreContractOptions,
} from "../../../kit/store-contract/delivery-store-contract.js";
import type { ContractCase, StoreUnderTest } from "../../../kit/store-contract/contract-case.js";
import { storeVerbs, type StoreVerbs } from "../../../kit/store-contract/store-verbs.js";
import type { MaybePromise } from "../../../src/common/promises.js";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import type { TransactionalStore } from "../../../src/stores/transactional-store.js";
import type { PurgeOptions, TableMaintenance } from "../../../src/stores/table-maintenance.js";

/** An empty store of an engine, and what else the engine has. */
export interface StorePlace extends StoreUnderTest {
  /** Moves what is stored into the past, in place of the clock into the future. */
  readonly advance: (ms: number) => MaybePromise<void>;
  /** Transactions in the table of the store. */
  readonly transactions?: TransactionalStore<unknown>;
  readonly purge?: TableMaintenance["purge"];
}

/** What a case needs of an engine: `forgets` is the end of what was claimed and never settled. */
export type Ability = "forgets" | "purge" | "transactions";

/** A case for any test runner. */
export interface StoreCase {
  readonly title: string;
  readonly run: () => Promise<unknown>;
}

type Check = (place: StorePlace & Required<Pick<StorePlace, "purge" | "transactions">>) => unknown;

const HOUR_MS = 3_600_000;
/** Times that outlast a test. */
export const TIMES = { leaseMs: 60_000, retentionMs: HOUR_MS };
export const CLAIMED = { state: "claimed", takeover: false };
const TAKEN_OVER = { state: "claimed", takeover: true };
export const COMPLETED = { state: "completed" };
export const PROCESSED = { state: "processed" };
/** After it a lease of a second has ended, also with the margin of a store without a clock. */
const LATER_MS = 4_000;
const AWKWARD = ["__proto__", "'; DROP TABLE gateway_deliveries; --", '"', "?", "$1", ":a", "\\'"];

/** What every store does beyond its contract, if its engine has the ability. */
const CHECKS: readonly (readonly [title: string, needs: Ability | undefined, check: Check])[] = [
  [
    "any text of a key or an owner is a value, never code",
    undefined,
    async ({ store }) => {
      for (const text of [...AWKWARD, "\\", "é 💥"]) {
        assert.deepEqual(await store.claim(text, text, TIMES), CLAIMED);
        assert.equal((await store.claim(text, "other", TIMES)).state, "in_flight");
        await store.release(text, text);
        assert.deepEqual(await store.claim(text, "other", TIMES), CLAIMED);
      }
    },
  ],
  [
    "a lease that outlasts the retention, claimed or renewed, holds until its end",
    undefined,
    async ({ store, advance, purge }) => {
      await store.claim("claimed", "a", { leaseMs: HOUR_MS, retentionMs: 1 });
      await store.claim("renewed", "a", { leaseMs: 10_000, retentionMs: 1 });
      assert.equal(await store.renew("renewed", "a", { leaseMs: HOUR_MS }), true);
      await advance(60_000);
      // Some stores delete at a purge what is past its retention, and some at a completion.
      await (purge as StorePlace["purge"])?.();
      await store.complete("other", "a", TIMES);
      for (const key of ["claimed", "renewed"]) {
        // A store without a clock answers at most the lease that was asked for.
        const times = { leaseMs: HOUR_MS, retentionMs: HOUR_MS };
        const duplicate = await store.claim(key, "b", times);
        assert.ok(duplicate.state === "in_flight" && duplicate.retryAfterMs > HOUR_MS - 120_000);
      }
      assert.equal(await store.renew("renewed", "a", TIMES), true);
    },
  ],
  [
    "the longest lease and a retention of millennia are accepted",
    undefined,
    async ({ store }) => {
      const longest = { leaseMs: 2 ** 31 - 1, retentionMs: Number.MAX_SAFE_INTEGER };
      assert.deepEqual(await store.claim("k", "a", longest), CLAIMED);
      assert.equal(await store.renew("k", "a", longest), true);
      const duplicate = await store.claim("k", "b", longest);
      assert.ok(duplicate.state === "in_flight");
      assert.equal(typeof duplicate.retryAfterMs, "number");
      assert.ok(duplicate.retryAfterMs > longest.leaseMs - 60_000);
      await store.complete("k", "a", longest);
      assert.deepEqual(await store.claim("k", "b", longest), { state: "completed" });
    },
  ],
  [
    "a claim that never settled and a released takeover are kept for the retention and no longer",
    "forgets",
    async ({ store, advance }) => {
      const times = { leaseMs: 1_000, retentionMs: 20_000 };
      for (const key of ["left", "released"]) await store.claim(key, "a", times);
      await advance(LATER_MS);
      for (const owner of ["b", "c"]) {
        assert.deepEqual(await store.claim("released", owner, times), TAKEN_OVER);
        await store.release("released", owner);
        await advance(LATER_MS);
      }
      assert.deepEqual(await store.claim("left", "b", times), TAKEN_OVER);
      await advance(times.leaseMs + times.retentionMs + 1_000);
      for (const key of ["left", "released"]) {
        assert.deepEqual(await store.claim(key, "d", times), CLAIMED);
      }
    },
  ],
  [
    "purge() deletes in batches the rows whose retention has ended, and no others",
    "purge",
    async ({ store, advance, purge }) => {
      for (let at = 0; at < 25; at += 1) {
        await store.complete(`k-${at}`, "a", { retentionMs: 1_000 });
      }
      await store.complete("a-kept", "a", TIMES);
      await store.claim("z-running", "a", TIMES);
      await advance(LATER_MS);
      assert.equal(await purge({ batchRows: 10 }), 25);
      assert.equal(await purge(), 0);
      assert.deepEqual(await store.claim("a-kept", "b", TIMES), { state: "completed" });
      assert.equal((await store.claim("z-running", "b", TIMES)).state, "in_flight");
    },
  ],
  [
    "purge() refuses a batchRows out of its bounds and an unknown option",
    "purge",
    async ({ purge }) => {
      for (const batchRows of [0, 1.5, 100_001]) {
        await assert.rejects(purge({ batchRows }), /batchRows must be a whole number/);
      }
      const misspelt = { batch: 10 } as PurgeOptions;
      await assert.rejects(purge(misspelt), /batch is no option of purge: .* There are batchRows/);
    },
  ],
  [
    "transactions take any text of a key as a value, never as code",
    "transactions",
    async ({ transactions }) => {
      for (const key of AWKWARD) await expectToProcess(transactions, key);
    },
  ],
  [
    "transactions roll back if the handler throws at once",
    "transactions",
    async ({ transactions }) => {
      const throwsAtOnce = (): never => {
        throw new RangeError("at once");
      };
      await assert.rejects(transactions.process("k", throwsAtOnce, TIMES), RangeError);
      await expectToProcess(transactions, "k");
    },
  ],
  [
    "transactions respect the leases and completions of the store in their table",
    "transactions",
    async ({ store, transactions }) => {
      const mustNotRun = () => Promise.reject(new Error("the handler was called"));
      await store.claim("leased", "a", TIMES);
      const duplicate = await transactions.process("leased", mustNotRun, TIMES);
      assert.ok(duplicate.state === "in_flight" && duplicate.retryAfterMs > 30_000);
      assert.ok(duplicate.retryAfterMs <= TIMES.leaseMs);
      await store.complete("leased", "a", TIMES);
      const again = await transactions.process("leased", mustNotRun, TIMES);
      assert.deepEqual(again, { state: "completed" });
    },
  ],
  [
    "transactions report the takeover of an ended lease, also after a failure, and complete it",
    "transactions",
    async ({ store, transactions, advance }) => {
      const takeovers: unknown[] = [];
      const process = (key: string, error?: Error) =>
        transactions.process(
          key,
          (_tx, facts) => {
            takeovers.push(facts?.takeover);
            return error === undefined ? Promise.resolve() : Promise.reject(error);
          },
          TIMES,
        );
      await store.claim("forgotten", "a", { leaseMs: 1_000, retentionMs: 1_000 });
      await store.claim("left", "a", { leaseMs: 1_000, retentionMs: HOUR_MS });
      await advance(LATER_MS);
      await store.claim("released", "a", TIMES);
      await store.release("released", "a");
      for (const key of ["new", "released", "forgotten"]) await process(key);
      assert.deepEqual(takeovers.splice(0), [false, false, false]);
      await assert.rejects(process("left", new Error("no")), /no/);
      assert.deepEqual(await process("left"), { state: "processed" });
      assert.deepEqual(takeovers, [true, true]);
      assert.deepEqual(await store.claim("left", "b", TIMES), { state: "completed" });
      assert.equal(await store.renew("left", "a", TIMES), false);
    },
  ],
];

/** The cases for an engine with these abilities, each on a store of its own. */
export function storeCases(
  makePlace: () => MaybePromise<StorePlace>,
  abilities: readonly Ability[],
): readonly StoreCase[] {
  return CHECKS.flatMap(([title, needs, check]) => {
    if (needs !== undefined && !abilities.includes(needs)) return [];
    const run = async () => {
      const place = await makePlace();
      try {
        await check(place as Parameters<Check>[0]);
      } finally {
        await place.close?.();
      }
    };
    return [{ title, run }];
  });
}

/**
 * The calls of the contract on a store, each with the answer that it must get. Its times are an hour, or a second for
 * `leased`.
 */
export function verbsOf(store: DeliveryStore): StoreVerbs {
  return storeVerbs({ store, advance: () => undefined, movesClock: true }, 1_000);
}

/** One call of each method, for the key `k` and the owner `a`. */
export function callsTo(store: DeliveryStore): readonly (() => Promise<unknown>)[] {
  const { claim, renewed, complete, release } = verbsOf(store);
  return [
    () => claim("k", "a"),
    () => renewed("k", "a", true),
    () => complete("k", "a"),
    () => release("k", "a"),
  ];
}

/** Expects that every method works, for a key that the store does not know. */
export async function expectToWork(store: DeliveryStore, key = "k"): Promise<void> {
  const { claimed, inFlight, renewed, release, complete, completed } = verbsOf(store);
  await claimed(key, "a");
  await inFlight(key, "b");
  await renewed(key, "a", true);
  await renewed(key, "b", false);
  await release(key, "a");
  await claimed(key, "b");
  await complete(key, "b");
  await completed(key, "a");
}

/** Expects that a delivery is processed once, with a key that the store does not know. */
export async function expectToProcess(
  transactions: TransactionalStore<unknown>,
  key = "transaction",
): Promise<void> {
  const work = () => Promise.resolve();
  assert.deepEqual(await transactions.process(key, work, TIMES), { state: "processed" });
  assert.deepEqual(await transactions.process(key, work, TIMES), { state: "completed" });
}

export const needsDays = ({ id }: { id: string }): boolean => id.endsWith("-days");

/** The cases of a contract on the engine's own clock. What is stored moves into the past for those that need days. */
export function onRealClock<Place extends object, Case extends { readonly id: string }>(
  contractOf: (make: () => Promise<Place>) => readonly Case[],
  makePlace: () => MaybePromise<Place>,
  isMoved: (one: Case) => boolean = needsDays,
): readonly Case[] {
  const make = async (): Promise<Place> => makePlace();
  const waiting = async (): Promise<Place> => ({ ...(await makePlace()), advance: undefined });
  return [
    ...contractOf(waiting).filter((one) => !isMoved(one)),
    ...contractOf(make).filter(isMoved),
  ];
}

/** The contract of `DeliveryStore` on the engine's own clock. */
export function storeContract(
  makePlace: () => MaybePromise<StorePlace>,
  options: DeliveryStoreContractOptions,
): readonly ContractCase[] {
  const contractOf = (make: () => Promise<StorePlace>) => deliveryStoreContract(make, options);
  // A sequence has pauses of many minutes.
  return onRealClock(contractOf, makePlace, (one) => needsDays(one) || one.id === "sequences");
}
