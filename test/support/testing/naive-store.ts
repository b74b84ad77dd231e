import type { ClaimResult, DeliveryStore } from "../../../src/index.js";

/** What a naive store can be made to do wrong: each is a mistake that stores are really written with. */
export type StoreMistake =
  | "forgets the lease"
  | "answers completed for what is in flight"
  | "releases for anyone"
  | "renews for anyone"
  | "renews an ended lease"
  | "refuses a late completion"
  | "forgets the completion"
  | "undoes the completion on release"
  | "never ends a lease"
  | "blocks its own owner"
  | "hides a takeover"
  | "mixes up letter case"
  | "claims in two steps"
  | "keeps the first lease of a repeated claim"
  | "forgets an ended lease"
  | "forgets a takeover that is claimed again"
  | "forgets a takeover that is released"
  | "forgets a takeover that is renewed"
  | "says a whole lease is left"
  | "overflows on a long retention"
  | "ends a retention too early"
  | "takes an owner for those who begin like it";

interface Entry {
  owner: string;
  leaseUntil: number;
  /** Whether an earlier lease ended without a result. */
  takeover: boolean;
  completedUntil: number;
}

/**
 * The `DeliveryStore` contract once more, written without a thought for memory, so that tests can
 * break it in one place: with a mistake it is a store that they must catch.
 */
export function naiveStore(now: () => number, mistake?: StoreMistake): DeliveryStore {
  const entries = new Map<string, Entry>();
  const is = (one: StoreMistake) => mistake === one;
  const find = (key: string) => entries.get(is("mixes up letter case") ? key.toLowerCase() : key);
  const put = (key: string, entry: Entry) => {
    entries.set(is("mixes up letter case") ? key.toLowerCase() : key, entry);
  };
  const isHeld = (entry: Entry) => is("never ends a lease") || entry.leaseUntil > now();
  const isOwner = (entry: Entry, owner: string) =>
    is("takes an owner for those who begin like it")
      ? entry.owner !== "" && entry.owner.startsWith(owner)
      : entry.owner === owner;
  /** How long a retention is, once the mistake is made. */
  const kept = (retentionMs: number) => {
    if (is("overflows on a long retention")) return retentionMs > 2 ** 31 - 1 ? 1 : retentionMs;
    return is("ends a retention too early") ? retentionMs / 2 : retentionMs;
  };

  const decide = (
    entry: Entry | undefined,
    key: string,
    owner: string,
    leaseMs: number,
  ): ClaimResult => {
    if (entry !== undefined && entry.completedUntil > now()) return { state: "completed" };
    const isLeased = entry !== undefined && entry.owner !== "";
    if (isLeased && isHeld(entry) && !is("forgets the lease")) {
      if (!isOwner(entry, owner) || is("blocks its own owner")) {
        if (is("answers completed for what is in flight")) return { state: "completed" };
        const leftMs = is("says a whole lease is left") ? leaseMs : entry.leaseUntil - now();
        return { state: "in_flight", retryAfterMs: Math.max(1, leftMs) };
      }
      if (is("keeps the first lease of a repeated claim")) {
        return { state: "claimed", takeover: false };
      }
    }
    const isForgotten =
      is("hides a takeover") ||
      (is("forgets an ended lease") && now() - (entry?.leaseUntil ?? 0) > leaseMs);
    const wasTakeover =
      isLeased && entry.takeover && !is("forgets a takeover that is claimed again");
    const takeover = isLeased && (wasTakeover || !isHeld(entry)) && !isForgotten;
    put(key, { owner, leaseUntil: now() + leaseMs, takeover, completedUntil: 0 });
    return { state: "claimed", takeover };
  };

  return {
    claim(key, owner, { leaseMs }) {
      const entry = find(key);
      if (!is("claims in two steps")) return decide(entry, key, owner, leaseMs);
      return Promise.resolve().then(() => decide(entry, key, owner, leaseMs));
    },

    renew(key, owner, { leaseMs }) {
      const entry = find(key);
      if (entry === undefined || entry.owner === "") return false;
      if (!isOwner(entry, owner) && !is("renews for anyone")) return false;
      if (!isHeld(entry) && !is("renews an ended lease")) return false;
      entry.leaseUntil = now() + leaseMs;
      if (is("forgets a takeover that is renewed")) entry.takeover = false;
      return true;
    },

    complete(key, owner, { retentionMs }) {
      if (is("forgets the completion")) return;
      const entry = find(key);
      const isLate = entry?.owner !== owner || entry.leaseUntil <= now();
      if (isLate && is("refuses a late completion")) throw new Error("the lease is lost");
      if (entry !== undefined && entry.completedUntil > now()) return;
      const completedUntil = now() + kept(retentionMs);
      put(key, { owner: "", leaseUntil: 0, takeover: false, completedUntil });
    },

    release(key, owner) {
      const entry = find(key);
      if (entry === undefined) return;
      if (is("undoes the completion on release")) entry.completedUntil = 0;
      if (!isOwner(entry, owner) && !is("releases for anyone")) return;
      if (entry.takeover && !is("forgets a takeover that is released")) entry.leaseUntil = now();
      else entry.owner = "";
    },
  };
}
