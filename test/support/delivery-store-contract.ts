import type { ClaimResult, DeliveryStore, MaybePromise } from "../../src/index.js";

/** A store, and how its clock is moved on: at once where it can be set, by waiting where it cannot. */
export interface StoreUnderTest {
  readonly store: DeliveryStore;
  readonly advance: (ms: number) => MaybePromise<void>;
}

/** One rule of the contract. `run` rejects where the store breaks it. */
export interface DeliveryStoreCase {
  /** Stable, so that a report can name it. */
  readonly id: string;
  readonly title: string;
  /** Calls `makeStore` once, for an empty store. */
  readonly run: (makeStore: () => MaybePromise<StoreUnderTest>) => Promise<void>;
}

/** A store broke a rule of the `DeliveryStore` contract. */
class ContractError extends Error {
  override readonly name = "ContractError";
}

/** Short enough to wait for in real time, and every check stays 300 ms away from a lease's end. */
const LEASE_MS = 1_000;
const RETENTION_MS = 3_000;
const LONG_RETENTION_MS = 3_600_000;

/** The verbs with the times that the cases share, and an expectation on each answer. */
interface Verbs {
  readonly claimed: (key: string, owner: string, takeover?: boolean) => Promise<void>;
  readonly inFlight: (key: string, owner: string) => Promise<void>;
  readonly completed: (key: string, owner: string) => Promise<void>;
  readonly renewed: (key: string, owner: string, held: boolean) => Promise<void>;
  readonly complete: (key: string, owner: string, retentionMs?: number) => Promise<void>;
  readonly release: (key: string, owner: string) => Promise<void>;
  readonly claim: (key: string, owner: string) => Promise<ClaimResult>;
  readonly advance: (ms: number) => Promise<void>;
}

function verbsOf({ store, advance }: StoreUnderTest): Verbs {
  const claim = async (key: string, owner: string) =>
    store.claim(key, owner, { leaseMs: LEASE_MS, retentionMs: LONG_RETENTION_MS });
  return {
    claim,
    async claimed(key, owner, takeover = false) {
      const result = await claim(key, owner);
      expect(result.state === "claimed", `${owner} claims ${key}`, result);
      expect(
        result.state === "claimed" && result.takeover === takeover,
        `the claim of ${key} by ${owner} is ${takeover ? "a" : "no"} takeover`,
        result,
      );
    },
    async inFlight(key, owner) {
      const result = await claim(key, owner);
      expect(result.state === "in_flight", `${key} is in flight for ${owner}`, result);
      if (result.state !== "in_flight") return;
      const { retryAfterMs } = result;
      expect(
        retryAfterMs > 0 && retryAfterMs <= LEASE_MS,
        "retryAfterMs is within a lease",
        result,
      );
    },
    async completed(key, owner) {
      const result = await claim(key, owner);
      expect(result.state === "completed", `${key} is completed for ${owner}`, result);
    },
    async renewed(key, owner, held) {
      const answer = await store.renew(key, owner, LEASE_MS);
      expect(answer === held, `renew of ${key} by ${owner} is ${String(held)}`, answer);
    },
    async complete(key, owner, retentionMs = LONG_RETENTION_MS) {
      await store.complete(key, owner, retentionMs);
    },
    async release(key, owner) {
      await store.release(key, owner);
    },
    async advance(ms) {
      await advance(ms);
    },
  };
}

function expect(holds: boolean, rule: string, got: unknown): void {
  if (!holds) throw new ContractError(`${rule}, but the store answered ${JSON.stringify(got)}`);
}

function rule(id: string, title: string, check: (verbs: Verbs) => Promise<void>) {
  const run: DeliveryStoreCase["run"] = async (makeStore) => check(verbsOf(await makeStore()));
  return { id, title, run };
}

const AWKWARD_KEYS = [
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "then", "null", "undefined"],
  ...[".", "..", "-", "_", "0", "00", "1e3", "a", "A", "a.b", "a-b", "a_b", "a".repeat(128)],
];

/**
 * Every rule that a `DeliveryStore` has to keep. Free of any test runner: give each case's title to
 * yours, and let it await `run`.
 */
export const deliveryStoreContract: readonly DeliveryStoreCase[] = [
  rule(
    "claim-exclusive",
    "a key that is claimed is in flight for everybody else",
    async (store) => {
      await store.claimed("k", "a");
      await store.inFlight("k", "b");
      await store.inFlight("k", "c");
    },
  ),
  rule(
    "claim-again",
    "the same owner claims again what it holds, and still alone",
    async (store) => {
      await store.claimed("k", "a");
      await store.claimed("k", "a");
      await store.inFlight("k", "b");
    },
  ),
  rule("claim-atomic", "of many claims at a time one is granted", async (store) => {
    await onlyOneClaims(store, false);
  }),
  rule("takeover", "after the lease has ended a claim is a takeover", async (store) => {
    await store.claimed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.claimed("k", "b", true);
    await store.inFlight("k", "a");
  }),
  rule("takeover-by-itself", "an owner whose lease has ended takes over too", async (store) => {
    await store.claimed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.claimed("k", "a", true);
  }),
  rule("takeover-atomic", "of many takeovers at a time one is granted", async (store) => {
    await store.claimed("k", "gone");
    await store.advance(LEASE_MS + 300);
    await onlyOneClaims(store, true);
  }),
  rule("renew", "a renewed lease holds from the moment of its renewal", async (store) => {
    await store.claimed("k", "a");
    await store.advance(650);
    await store.renewed("k", "a", true);
    await store.advance(650);
    await store.inFlight("k", "b");
    await store.advance(LEASE_MS);
    await store.claimed("k", "b", true);
  }),
  rule("renew-ended", "a lease that has ended is not renewed", async (store) => {
    await store.claimed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.renewed("k", "a", false);
    await store.claimed("k", "b", true);
  }),
  rule("renew-fenced", "nobody renews the lease of another owner", async (store) => {
    await store.claimed("k", "a");
    await store.advance(650);
    await store.renewed("k", "b", false);
    await store.advance(650);
    await store.claimed("k", "b", true);
    await store.renewed("k", "a", false);
    await store.renewed("k", "b", true);
  }),
  rule(
    "renew-nothing",
    "what is not claimed, released or completed is not renewed",
    async (store) => {
      await store.renewed("never", "a", false);
      await store.claimed("released", "a");
      await store.release("released", "a");
      await store.renewed("released", "a", false);
      await store.claimed("completed", "a");
      await store.complete("completed", "a");
      await store.renewed("completed", "a", false);
    },
  ),
  rule("release", "a released key is claimed at once, and is no takeover", async (store) => {
    await store.claimed("k", "a");
    await store.release("k", "a");
    await store.claimed("k", "b");
    await store.inFlight("k", "a");
  }),
  rule("release-fenced", "nobody releases the lease of another owner", async (store) => {
    await store.claimed("k", "a");
    await store.release("k", "b");
    await store.inFlight("k", "b");
    await store.advance(LEASE_MS + 300);
    await store.claimed("k", "b", true);
    await store.release("k", "a");
    await store.inFlight("k", "c");
  }),
  rule("release-nothing", "to release what is not claimed does nothing", async (store) => {
    await store.release("k", "a");
    await store.claimed("k", "b");
    await store.inFlight("k", "a");
  }),
  rule("complete", "a completed key stays completed, for its owner too", async (store) => {
    await store.claimed("k", "a");
    await store.complete("k", "a");
    await store.completed("k", "b");
    await store.completed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.completed("k", "b");
  }),
  rule(
    "complete-stays",
    "neither release, renew nor complete undoes a completion",
    async (store) => {
      await store.claimed("k", "a");
      await store.complete("k", "a");
      await store.release("k", "a");
      await store.release("k", "b");
      await store.renewed("k", "b", false);
      await store.complete("k", "b", 1);
      await store.advance(300);
      await store.completed("k", "c");
    },
  ),
  rule("complete-late", "a completion is taken after the lease has ended", async (store) => {
    await store.claimed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.complete("k", "a");
    await store.completed("k", "b");
  }),
  rule("complete-lost", "a completion is taken after another owner took over", async (store) => {
    await store.claimed("k", "a");
    await store.advance(LEASE_MS + 300);
    await store.claimed("k", "b", true);
    await store.complete("k", "a");
    await store.completed("k", "c");
    await store.renewed("k", "b", false);
    await store.release("k", "b");
    await store.completed("k", "c");
    await store.complete("k", "b");
    await store.completed("k", "c");
  }),
  rule(
    "complete-unclaimed",
    "a completion is taken for a key it knows nothing of",
    async (store) => {
      await store.complete("k", "a");
      await store.completed("k", "b");
    },
  ),
  rule(
    "retention",
    "a completion is forgotten after its retention, and not before",
    async (store) => {
      await store.claimed("k", "a");
      await store.complete("k", "a", RETENTION_MS);
      await store.advance(RETENTION_MS - 600);
      await store.completed("k", "b");
      await store.advance(900);
      await store.claimed("k", "b");
      await store.inFlight("k", "c");
    },
  ),
  rule("keys-apart", "keys that look alike or awkward are each their own", async (store) => {
    for (const key of AWKWARD_KEYS) await store.claimed(key, "a");
    const [odd, even] = halves(AWKWARD_KEYS);
    for (const key of odd) await store.complete(key, "a");
    for (const key of odd) await store.completed(key, "b");
    for (const key of even) await store.inFlight(key, "b");
    for (const key of even) await store.release(key, "a");
    for (const key of even) await store.claimed(key, "b");
    expect(Object.keys(Object.prototype).length === 0, "no key pollutes a prototype", undefined);
  }),
  rule("keys-many", "10 000 keys at a time are each remembered", async (store) => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `delivery-${String(index)}`);
    const [odd, even] = halves(keys);
    await inBatches(keys, async (key) => {
      await store.claim(key, "a");
    });
    await inBatches(odd, (key) => store.complete(key, "a"));
    await inBatches(even, (key) => store.release(key, "a"));
    await inBatches(odd, (key) => store.completed(key, "b"));
    await inBatches(even, (key) => store.claimed(key, "b"));
  }),
];

async function onlyOneClaims(store: Verbs, takeover: boolean): Promise<void> {
  const owners = Array.from({ length: 32 }, (_, index) => `owner-${String(index)}`);
  const results = await Promise.all(owners.map((owner) => store.claim("k", owner)));
  const granted = results.filter(({ state }) => state === "claimed");
  const refused = results.filter(({ state }) => state === "in_flight");
  expect(granted.length === 1 && refused.length === 31, "one of 32 claims is granted", results);
  expect(
    granted.every((result) => result.state === "claimed" && result.takeover === takeover),
    `the one that is granted is ${takeover ? "a" : "no"} takeover`,
    granted,
  );
}

function halves(keys: readonly string[]): [string[], string[]] {
  return [keys.filter((_, at) => at % 2 === 0), keys.filter((_, at) => at % 2 === 1)];
}

/** So many calls at a time as a client of a real store can take. */
async function inBatches(
  keys: readonly string[],
  call: (key: string) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < keys.length; at += 500) {
    await Promise.all(keys.slice(at, at + 500).map(call));
  }
}
