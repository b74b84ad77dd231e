import type { ClaimResult, DeliveryStore } from "../../../src/index.js";
import type { ClaimOptions } from "../../../src/stores/delivery-store.js";

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
  | "takes an owner for those who begin like it"
  | "forgets an ended lease after a day"
  | "forgets an ended lease when a timer of 30 days overflows"
  | "adds a renewal to the old end"
  | "adds a repeated claim to the old end"
  | "renews without extending"
  | "renews a key that no one has claimed"
  | "renews a completed key"
  | "counts the retention from the claim"
  | "counts the retention of a claim from the first claim"
  | "caps the retention of a claim at 30 days"
  | "keeps a completion forever"
  | "lets a refused claim take the lease"
  | "lets a refused claim extend the lease"
  | "keeps a released claim as an ended lease"
  | "lets the same owner go on after its lease"
  | "remembers a completion forever once it was seen"
  | "refuses its owner after another claim"
  | "refuses an owner that has released"
  | "calls a claim by an owner that has released a takeover"
  | "refuses a completion by an owner that has released"
  | "lets another owner renew an ended lease"
  | "refuses a completion by another owner after the lease"
  | "keeps the ended lease of a completion"
  | "completes only once"
  | "keeps an ended lease that is released";

interface Entry {
  owner: string;
  leaseUntil: number;
  /** Whether an earlier lease ended without a result. */
  takeover: boolean;
  completedUntil: number;
  claimedAt: number;
  /** Until when an ended lease is remembered, if a mistake forgets it. */
  rememberedUntil: number;
  /** Who released it last, and whether a claim was refused, for mistakes that look at it. */
  releasedBy?: string;
  hasRefused?: boolean;
}

const DAY_MS = 86_400_000;

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
    if (is("keeps a completion forever")) return Infinity;
    if (is("overflows on a long retention")) return retentionMs > 2 ** 31 - 1 ? 1 : retentionMs;
    return is("ends a retention too early") ? retentionMs / 2 : retentionMs;
  };

  const decide = (
    entry: Entry | undefined,
    key: string,
    owner: string,
    { leaseMs, retentionMs }: ClaimOptions,
  ): ClaimResult => {
    if (entry !== undefined && entry.completedUntil > now()) {
      if (is("remembers a completion forever once it was seen")) entry.completedUntil = Infinity;
      return { state: "completed" };
    }
    const isLeased = entry !== undefined && entry.owner !== "";
    if (isLeased && isHeld(entry) && !is("forgets the lease")) {
      const isBarred = is("refuses its owner after another claim") && entry.hasRefused === true;
      if (!isOwner(entry, owner) || is("blocks its own owner") || isBarred) {
        entry.hasRefused = true;
        if (is("lets a refused claim take the lease")) entry.owner = owner;
        if (is("lets a refused claim extend the lease")) entry.leaseUntil = now() + leaseMs;
        if (is("answers completed for what is in flight")) return { state: "completed" };
        const leftMs = is("says a whole lease is left") ? leaseMs : entry.leaseUntil - now();
        return { state: "in_flight", retryAfterMs: Math.max(1, leftMs) };
      }
      if (is("keeps the first lease of a repeated claim")) {
        return { state: "claimed", takeover: false };
      }
    }
    const hasReleased = entry?.owner === "" && entry.releasedBy === owner;
    if (hasReleased && is("refuses an owner that has released")) {
      return { state: "in_flight", retryAfterMs: leaseMs };
    }
    const isRemembered = entry === undefined || entry.rememberedUntil > now();
    const isForgotten =
      is("hides a takeover") ||
      (!isRemembered &&
        (is("counts the retention of a claim from the first claim") ||
          is("caps the retention of a claim at 30 days"))) ||
      (is("lets the same owner go on after its lease") && entry?.owner === owner) ||
      (is("forgets an ended lease after a day") && now() - (entry?.claimedAt ?? 0) > DAY_MS) ||
      (is("forgets an ended lease when a timer of 30 days overflows") &&
        retentionMs >= 2 ** 31 &&
        now() > (entry?.leaseUntil ?? 0)) ||
      (is("forgets an ended lease") && now() - (entry?.leaseUntil ?? 0) > leaseMs);
    const wasTakeover =
      isLeased && entry.takeover && !is("forgets a takeover that is claimed again");
    const takeover =
      (isLeased && (wasTakeover || !isHeld(entry)) && !isForgotten) ||
      (hasReleased && is("calls a claim by an owner that has released a takeover"));
    const isAdded = isLeased && isHeld(entry) && is("adds a repeated claim to the old end");
    const leaseUntil = (isAdded ? entry.leaseUntil : now()) + leaseMs;
    const keptMs = is("caps the retention of a claim at 30 days")
      ? Math.min(retentionMs, 30 * DAY_MS)
      : retentionMs;
    const isFirst = is("counts the retention of a claim from the first claim") && isLeased;
    const rememberedUntil = isFirst ? entry.rememberedUntil : now() + keptMs;
    put(key, { owner, leaseUntil, takeover, completedUntil: 0, claimedAt: now(), rememberedUntil });
    return { state: "claimed", takeover };
  };

  return {
    claim(key, owner, options) {
      const entry = find(key);
      if (!is("claims in two steps")) return decide(entry, key, owner, options);
      return Promise.resolve().then(() => decide(entry, key, owner, options));
    },

    renew(key, owner, { leaseMs }) {
      const entry = find(key);
      if (is("renews a completed key") && (entry?.completedUntil ?? 0) > now()) return true;
      if (entry === undefined || entry.owner === "") {
        return is("renews a key that no one has claimed");
      }
      const isOpen = is("lets another owner renew an ended lease") && !isHeld(entry);
      if (isOpen === isOwner(entry, owner) && !is("renews for anyone")) return false;
      if (!isHeld(entry) && !isOpen && !is("renews an ended lease")) return false;
      if (is("renews without extending")) return true;
      entry.leaseUntil = (is("adds a renewal to the old end") ? entry.leaseUntil : now()) + leaseMs;
      if (is("forgets a takeover that is renewed")) entry.takeover = false;
      return true;
    },

    complete(key, owner, { retentionMs }) {
      if (is("forgets the completion")) return;
      const entry = find(key);
      const isLate = entry?.owner !== owner || entry.leaseUntil <= now();
      if (isLate && is("refuses a late completion")) throw new Error("the lease is lost");
      const isOver = entry?.owner !== owner && (entry?.leaseUntil ?? Infinity) <= now();
      if (isOver && is("refuses a completion by another owner after the lease")) return;
      const isReleased = entry?.owner === "" && entry.releasedBy === owner;
      if (isReleased && is("refuses a completion by an owner that has released")) return;
      if ((entry?.completedUntil ?? 0) > (is("completes only once") ? 0 : now())) return;
      const isKept =
        is("keeps the ended lease of a completion") && (entry?.leaseUntil ?? Infinity) <= now();
      const claimedAt = entry?.claimedAt ?? now();
      const from = is("counts the retention from the claim") ? claimedAt : now();
      const completedUntil = from + kept(retentionMs);
      const rememberedUntil = completedUntil;
      put(key, {
        owner: isKept ? owner : "",
        leaseUntil: 0,
        takeover: false,
        completedUntil,
        claimedAt,
        rememberedUntil,
      });
    },

    release(key, owner) {
      const entry = find(key);
      if (entry === undefined) return;
      if (is("undoes the completion on release")) entry.completedUntil = 0;
      if (!isOwner(entry, owner) && !is("releases for anyone")) return;
      if (!isHeld(entry) && is("keeps an ended lease that is released")) return;
      entry.releasedBy = owner;
      const isKept = entry.takeover && !is("forgets a takeover that is released");
      if (isKept || is("keeps a released claim as an ended lease")) entry.leaseUntil = now();
      else entry.owner = "";
    },
  };
}
