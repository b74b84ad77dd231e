import type { ClaimResult } from "../../src/stores/delivery-store.js";
import { ensure, LONG_MS, type StoreChecks, type StoreVerbs } from "./store-verbs.js";

const RACERS = 32;

/** Rules for two clients that call at the same time. */
export const raceChecks = {
  async "claim-atomic"(store) {
    await onlyOneClaims(store, false);
  },
  async "takeover-atomic"(store) {
    await store.leased("k", "gone");
    await store.advance(1.3);
    await onlyOneClaims(store, true);
  },
  async "claim-again-atomic"(store) {
    await store.claimed("k", "a");
    const [repeated, others] = await Promise.all([
      claimManyTimes(store, () => "a", store),
      claimManyTimes(store, (index) => `b${index}`),
    ]);
    every(repeated, "claimed", "the holder must be granted its key again");
    every(others, "in_flight", "the key must be in flight for all other owners");
  },
  async "complete-atomic"(store) {
    await store.claimed("k", "a");
    const granted = await claimDuring(store, () => store.complete("k", "a"));
    ensure(granted.length === 0, "no claim may be granted during a completion", granted);
    await store.completed("k", "z");
  },
  async "release-atomic"(store) {
    await store.claimed("k", "a");
    const granted = await claimDuring(store, () => store.release("k", "a"));
    ensure(granted.length <= 1, "at most one claim may be granted", granted);
    if (granted.length === 1) await store.inFlight("k", "z");
  },
  async "renew-atomic"(store) {
    await store.claimed("k", "a");
    const renew = async (client: StoreVerbs) =>
      client.methods.renew("k", "a", { leaseMs: LONG_MS });
    const renewTwice = () => [renew(store), renew(store.other)];
    await Promise.all([...renewTwice(), store.complete("k", "a"), ...renewTwice()]);
    await store.other.completed("k", "z");
  },
} satisfies StoreChecks;

/** Sends many claims of one key, by two clients in turn, before any of them is answered. */
function claimManyTimes(store: StoreVerbs, owner: (index: number) => string, other = store.other) {
  const claims = Array.from({ length: RACERS }, (_, index) =>
    (index % 2 === 0 ? store : other).claim("k", owner(index)),
  );
  return Promise.all(claims);
}

/** Returns the claims that are granted before, during and after `settle`. */
async function claimDuring(store: StoreVerbs, settle: () => Promise<void>) {
  const [before, , after] = await Promise.all([
    claimManyTimes(store, (index) => `b${index}`),
    settle(),
    claimManyTimes(store, (index) => `c${index}`),
  ]);
  return [...before, ...after].filter(isClaimed);
}

async function onlyOneClaims(store: StoreVerbs, takeover: boolean): Promise<void> {
  const results = await claimManyTimes(store, (index) => `owner-${index}`);
  const granted = results.filter(isClaimed);
  const refused = results.filter(({ state }) => state === "in_flight");
  const isOne = granted.length === 1 && refused.length === RACERS - 1;
  ensure(isOne, `one of ${RACERS} claims must be granted`, results);
  const isRight = granted.every((result) => result.takeover === takeover);
  ensure(isRight, `the one that is granted must be ${takeover ? "a" : "no"} takeover`, granted);
}

type Claimed = Extract<ClaimResult, { state: "claimed" }>;

function isClaimed(result: ClaimResult): result is Claimed {
  return result.state === "claimed";
}

function every(results: readonly ClaimResult[], state: ClaimResult["state"], rule: string): void {
  const isEach = results.every((result) => result.state === state);
  ensure(isEach, rule, results);
}
