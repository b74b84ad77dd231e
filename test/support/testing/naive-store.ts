import type { ClaimResult, DeliveryStore } from "../../../src/index.js";
import type { ClaimOptions } from "../../../src/stores/delivery-store.js";

/** What a naive store can be made to do wrong, with a case that must convict it: mistakes of real stores. */
export const STORE_MISTAKES = {
  "forgets the lease": "claim-exclusive",
  "answers completed for what is in flight": "claim-exclusive",
  "forgets the completion": "complete",
  "undoes the completion on release": "complete-stays",
  "never ends a lease": "takeover",
  "hides a takeover": "takeover",
  "forgets a takeover that is released": "release-takeover",
  "renews for anyone": "renew-fenced",
  "renews an ended lease": "renew-ended",
  "refuses a late completion": "complete-late",
  "mixes up letter case": "keys-apart",
  "inserts a new key in two steps": "claim-atomic",
  "takes over in two steps": "takeover-atomic",
  "claims a released key in two steps": "release-atomic",
  "saves the row that a renewal has read": "renew-atomic",
  "keeps the first lease of a repeated claim": "claim-again-holds",
  "forgets an ended lease": "takeover-remembered",
  "forgets a takeover that is claimed again": "takeover-again",
  "forgets a takeover that is renewed": "release-takeover",
  "takes an owner for those who begin like it": "owners-apart",
  "forgets a renewed lease a day after its end": "takeover-days",
  "adds a renewal to the old end": "lease-length",
  "extends a lease at the renewal of another owner": "renew-fenced",
  "renews a key that no one has claimed": "renew-nothing",
  "counts the retention from the claim": "retention",
  "counts the retention of a claim from the first claim": "claims-days",
  "caps the retention of a claim at 30 days": "claims-days",
  "lets the same owner go on after its lease": "takeover-by-itself",
  "remembers a completion forever once it was seen": "sequences",
  "refuses its owner after another claim": "claim-exclusive",
  "refuses an owner that has released": "sequences",
  "calls a claim by an owner that has released a takeover": "sequences",
  "refuses a completion by an owner that has released": "sequences",
  "lets another owner renew an ended lease": "sequences",
  "refuses a completion by another owner after the lease": "sequences",
  "keeps the ended lease of a completion": "sequences",
  "replaces a completion by a later one": "complete-stays",
  "refuses a completion by an owner that lost its lease": "complete-lost",
  "refuses to complete an unclaimed key": "complete-unclaimed",
  "keeps the release of an unclaimed key as an ended lease": "release-nothing",
  "completes only once": "sequences",
  "keeps an ended lease that is released": "sequences",
} as const;

export type StoreMistake = keyof typeof STORE_MISTAKES;

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
const UNKNOWN = { completedUntil: 0, claimedAt: 0, rememberedUntil: Infinity };

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
      if (!isOwner(entry, owner) || isBarred) {
        entry.hasRefused = true;
        if (is("answers completed for what is in flight")) return { state: "completed" };
        return { state: "in_flight", retryAfterMs: Math.max(1, entry.leaseUntil - now()) };
      }
      if (is("keeps the first lease of a repeated claim")) {
        return { state: "claimed", takeover: entry.takeover };
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
          is("caps the retention of a claim at 30 days") ||
          is("forgets a renewed lease a day after its end"))) ||
      (is("lets the same owner go on after its lease") &&
        entry?.owner === owner &&
        !entry.takeover) ||
      (is("forgets an ended lease") && now() - (entry?.leaseUntil ?? 0) > leaseMs);
    const wasTakeover =
      isLeased && entry.takeover && !is("forgets a takeover that is claimed again");
    const takeover =
      (isLeased && (wasTakeover || !isHeld(entry)) && !isForgotten) ||
      (hasReleased && is("calls a claim by an owner that has released a takeover"));
    const leaseUntil = now() + leaseMs;
    const isCapped = is("caps the retention of a claim at 30 days");
    const rememberedMs = isCapped ? Math.min(retentionMs, 30 * DAY_MS) : retentionMs;
    const isFirst = is("counts the retention of a claim from the first claim") && isLeased;
    const rememberedUntil = isFirst ? entry.rememberedUntil : now() + rememberedMs;
    put(key, { owner, leaseUntil, takeover, completedUntil: 0, claimedAt: now(), rememberedUntil });
    return { state: "claimed", takeover };
  };

  return {
    claim(key, owner, options) {
      const entry = find(key);
      const isFree = entry?.owner === "";
      const isInSteps =
        (is("inserts a new key in two steps") && entry === undefined) ||
        (is("takes over in two steps") && !isFree && entry !== undefined && !isHeld(entry)) ||
        (is("claims a released key in two steps") && isFree);
      if (!isInSteps) return decide(entry, key, owner, options);
      return Promise.resolve().then(() => decide(entry, key, owner, options));
    },

    renew(key, owner, { leaseMs }) {
      const entry = find(key);
      if (entry === undefined || entry.owner === "") {
        return entry === undefined && is("renews a key that no one has claimed");
      }
      const isOpen = is("lets another owner renew an ended lease") && !isHeld(entry);
      if (isOpen === isOwner(entry, owner) && !is("renews for anyone")) {
        if (is("extends a lease at the renewal of another owner"))
          entry.leaseUntil = now() + leaseMs;
        return false;
      }
      const isRenewable = is("renews an ended lease") && !entry.takeover;
      if (!isHeld(entry) && !isOpen && !isRenewable) return false;
      entry.leaseUntil = (is("adds a renewal to the old end") ? entry.leaseUntil : now()) + leaseMs;
      if (is("forgets a takeover that is renewed")) entry.takeover = false;
      if (is("forgets a renewed lease a day after its end"))
        entry.rememberedUntil = entry.leaseUntil + DAY_MS;
      if (!is("saves the row that a renewal has read")) return true;
      const read = { ...entry };
      return Promise.resolve().then(() => {
        put(key, read);
        return true;
      });
    },

    complete(key, owner, { retentionMs }) {
      if (is("forgets the completion")) return;
      const entry = find(key);
      if (entry === undefined && is("refuses to complete an unclaimed key")) return;
      const isLate = entry?.owner === owner && entry.leaseUntil <= now();
      if (isLate && is("refuses a late completion")) throw new Error("the lease is lost");
      const isLost = entry !== undefined && entry.owner !== owner && entry.leaseUntil > now();
      if (isLost && is("refuses a completion by an owner that lost its lease")) return;
      const isOver = entry?.owner !== owner && (entry?.leaseUntil ?? Infinity) <= now();
      if (isOver && is("refuses a completion by another owner after the lease")) return;
      const isReleased = entry?.owner === "" && entry.releasedBy === owner;
      if (isReleased && is("refuses a completion by an owner that has released")) return;
      const isDone = (entry?.completedUntil ?? 0) > (is("completes only once") ? 0 : now());
      if (isDone && !is("replaces a completion by a later one")) return;
      const isKept =
        is("keeps the ended lease of a completion") && (entry?.leaseUntil ?? Infinity) <= now();
      const claimedAt = entry?.claimedAt ?? now();
      const from = is("counts the retention from the claim") ? claimedAt : now();
      const completedUntil = from + retentionMs;
      const kept = { owner: isKept ? owner : "", leaseUntil: 0, takeover: false };
      put(key, { ...kept, completedUntil, claimedAt, rememberedUntil: completedUntil });
    },

    release(key, owner) {
      const entry = find(key);
      if (entry === undefined && is("keeps the release of an unclaimed key as an ended lease"))
        put(key, { ...{ owner, leaseUntil: now(), takeover: false }, ...UNKNOWN });
      if (entry === undefined) return;
      if (is("undoes the completion on release")) entry.completedUntil = 0;
      if (!isOwner(entry, owner)) return;
      if (!isHeld(entry) && is("keeps an ended lease that is released")) return;
      entry.releasedBy = owner;
      if (entry.takeover && !is("forgets a takeover that is released")) entry.leaseUntil = now();
      else entry.owner = "";
    },
  };
}
