import type { ClaimResult } from "../../stores/delivery-store.js";
import type { StoreRule } from "./store-rule.js";
import { ensure, type StoreVerbs } from "./store-verbs.js";

const RACERS = 32;

/** What holds while two clients call at the same time. */
export const raceRules: readonly StoreRule[] = [
  {
    id: "claim-atomic",
    title: "of many claims at a time, of two clients, one is granted",
    async check(store) {
      await onlyOneClaims(store, false);
    },
  },
  {
    id: "takeover-atomic",
    title: "of many takeovers at a time, of two clients, one is granted",
    async check(store) {
      await store.leased("k", "gone");
      await store.advance(1.3);
      await onlyOneClaims(store, true);
    },
  },
  {
    id: "claim-again-atomic",
    title: "of many repeated claims at a time all are granted, and none of another owner",
    async check(store) {
      await store.claimed("k", "a");
      const [repeated, others] = await Promise.all([
        claimAtOnce(store, () => "a"),
        claimAtOnce(store, (index) => `b${index}`),
      ]);
      every(repeated, "claimed", "the holder has to get its key again");
      every(others, "in_flight", "the key has to be in flight for all others");
    },
  },
  {
    id: "complete-atomic",
    title: "no claim slips in beside a completion",
    async check(store) {
      await store.claimed("k", "a");
      const granted = await claimBeside(store, () => store.complete("k", "a"));
      ensure(granted.length === 0, "no claim may be granted beside a completion", granted);
      await store.completed("k", "z");
    },
  },
  {
    id: "release-atomic",
    title: "of many claims beside a release one is granted at most, and it holds",
    async check(store) {
      await store.claimed("k", "a");
      const granted = await claimBeside(store, () => store.release("k", "a"));
      ensure(granted.length <= 1, "one claim may be granted at most", granted);
      if (granted.length === 1) await store.inFlight("k", "z");
    },
  },
  {
    id: "renew-atomic",
    title: "a lease that has ended is not renewed beside its takeover",
    async check(store) {
      await store.leased("k", "a");
      await store.advance(1.3);
      const renewed = () => store.renewed("k", "a", false);
      const takeover = () => store.other.claimed("k", "b", true);
      await Promise.all([renewed(), renewed(), takeover(), renewed(), renewed()]);
      await store.inFlight("k", "a");
    },
  },
];

/** Claims one key many times before any is answered, by both clients in turn. */
function claimAtOnce(store: StoreVerbs, owner: (index: number) => string): Promise<ClaimResult[]> {
  const claims = Array.from({ length: RACERS }, (_, index) =>
    (index % 2 === 0 ? store : store.other).claim("k", owner(index)),
  );
  return Promise.all(claims);
}

/** The claims that are granted before, while and after `settle` runs. */
async function claimBeside(
  store: StoreVerbs,
  settle: () => Promise<void>,
): Promise<readonly Claimed[]> {
  const [before, , after] = await Promise.all([
    claimAtOnce(store, (index) => `b${index}`),
    settle(),
    claimAtOnce(store, (index) => `c${index}`),
  ]);
  return [...before, ...after].filter(isClaimed);
}

async function onlyOneClaims(store: StoreVerbs, takeover: boolean): Promise<void> {
  const results = await claimAtOnce(store, (index) => `owner-${index}`);
  const granted = results.filter(isClaimed);
  const refused = results.filter(({ state }) => state === "in_flight");
  ensure(
    granted.length === 1 && refused.length === RACERS - 1,
    `one of ${RACERS} claims has to be granted`,
    results,
  );
  ensure(
    granted.every((result) => result.takeover === takeover),
    `the one that is granted has to be ${takeover ? "a" : "no"} takeover`,
    granted,
  );
}

type Claimed = Extract<ClaimResult, { state: "claimed" }>;

function isClaimed(result: ClaimResult): result is Claimed {
  return result.state === "claimed";
}

function every(results: readonly ClaimResult[], state: ClaimResult["state"], rule: string): void {
  ensure(
    results.every((result) => result.state === state),
    rule,
    results,
  );
}
