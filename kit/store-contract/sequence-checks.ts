import type { DeliveryStore } from "../../src/stores/delivery-store.js";
import { createRandom } from "../random.js";
import { DAY_MS, ensure, type StoreChecks } from "./store-verbs.js";

/** Which sequences are played. */
export interface SequenceOptions {
  /** How many, chosen by the seed. */
  readonly sequences: number;
  readonly seed: number;
}

/** On a clock that cannot be moved it outlasts the case. A tenth of it is more than the margin of any store. */
const LEASE_MS = 900_000;
/** Pauses in leases: two of the first do not end a lease. */
const PAUSES = [0.35, 1.3, 3.4];
/** Two of the second pause do not end it, since a store may count it from the last look. */
const RETENTION_MS = 3 * LEASE_MS;
const CLAIM_RETENTION_MS = 30 * DAY_MS;
const STEPS = 4;
/** How many calls are made at once. */
const AT_ONCE = 128;

interface Call {
  readonly method: "claim" | "renew" | "complete" | "release";
  readonly owner: string;
}
/** A call, or a pause. */
type Step = Call | number;

const CALLS = (["claim", "renew", "complete", "release"] as const).flatMap((method) =>
  ["a", "b"].map((owner): Call => ({ method, owner })),
);
/** Shows what the answers of the sequence have not shown. */
const LAST_CALL: Call = { method: "claim", owner: "c" };

/** A sequence, and what the store in the documentation of `DeliveryStore` answers. */
interface Played {
  readonly key: string;
  readonly sequence: readonly Step[];
  readonly expected: readonly string[];
}

/**
 * Plays sequences of four calls and pauses, each on a key of its own, on the store and on the one in the documentation
 * of `DeliveryStore`. Shorter sequences are the beginnings of these.
 */
export function sequenceChecks({ sequences, seed }: SequenceOptions) {
  return {
    async sequences(store) {
      const all = sequencesOf(store.movesClock ? [...CALLS, ...PAUSES] : CALLS);
      const isSample = sequences < all.length;
      const ending = isSample ? ` (seed ${seed})` : "";
      const play = async ({ key, sequence, expected }: Played, at: number): Promise<void> => {
        const step = sequence[at];
        if (typeof step !== "object") return;
        const client = step.owner === "b" ? store.other : store;
        const answer = await call(client.methods, key, step);
        const way = sequence
          .slice(0, at + 1)
          .map(nameOf)
          .join(", ");
        const rule = `${way}: the answer must be ${expected[at]}${ending}`;
        ensure(shown(step, answer) === expected[at], rule, answer);
      };
      // A pause is one for all keys, so sequences that pause alike are played together.
      for (const group of groupsOf(isSample ? sampleOf(all, sequences, seed) : all)) {
        for (let at = 0; at <= STEPS; at += 1) {
          const pause = group[0]?.sequence[at];
          if (typeof pause === "number") await store.advanceDays((pause * LEASE_MS) / DAY_MS);
          for (let from = 0; from < group.length; from += AT_ONCE) {
            await Promise.all(group.slice(from, from + AT_ONCE).map((one) => play(one, at)));
          }
        }
      }
    },
  } satisfies StoreChecks;
}

/** Every sequence without two pauses in a row. */
function sequencesOf(steps: readonly Step[]): readonly (readonly Step[])[] {
  let all: (readonly Step[])[] = [[]];
  for (let length = 0; length < STEPS; length += 1) {
    all = all.flatMap((sequence) =>
      steps
        .filter((step) => typeof step === "object" || typeof sequence.at(-1) !== "number")
        .map((step) => [...sequence, step]),
    );
  }
  return all;
}

function sampleOf<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  const random = createRandom(seed);
  const left = [...all];
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat();
}

/** The sequences by their pauses. */
function groupsOf(sequences: readonly (readonly Step[])[]): Iterable<readonly Played[]> {
  const groups = new Map<string, Played[]>();
  for (const [index, sequence] of sequences.entries()) {
    const pauses = sequence.map((step) => (typeof step === "number" ? step : "")).join();
    const group = groups.get(pauses) ?? [];
    const steps = [...sequence, LAST_CALL];
    group.push({ key: `sequence-${index}`, sequence: steps, expected: expectedOf(steps) });
    groups.set(pauses, group);
  }
  return groups.values();
}

function expectedOf(sequence: readonly Step[]): readonly string[] {
  let nowMs = 0;
  const store = referenceStore(() => nowMs);
  return sequence.map((step) => {
    if (typeof step === "object") return shown(step, call(store, "k", step));
    nowMs += step * LEASE_MS;
    return "";
  });
}

function call(store: DeliveryStore, key: string, { method, owner }: Call): unknown {
  const retentionMs = method === "complete" ? RETENTION_MS : CLAIM_RETENTION_MS;
  return store[method](key, owner, { leaseMs: LEASE_MS, retentionMs });
}

/** What is compared of an answer. */
function shown({ method }: Call, answer: unknown): string {
  if (method !== "claim" && method !== "renew") return "";
  return JSON.stringify(answer, ["state", "takeover"]);
}

function nameOf(step: Step): string {
  return typeof step === "number" ? `pause of ${step} leases` : `${step.method} by ${step.owner}`;
}

/** The example in the documentation of `DeliveryStore`, on a clock of its own. */
export function referenceStore(now: () => number): DeliveryStore {
  const rows = new Map<string, { owner: string; leaseEnd: number; takeover: boolean }>();
  const completed = new Map<string, number>();
  const isCompleted = (key: string) => (completed.get(key) ?? 0) > now();

  return {
    claim(key, owner, { leaseMs }) {
      if (isCompleted(key)) return { state: "completed" };
      const row = rows.get(key);
      const leftMs = row === undefined ? 0 : row.leaseEnd - now();
      if (row !== undefined && leftMs > 0 && row.owner !== owner) {
        return { state: "in_flight", retryAfterMs: leftMs };
      }
      const takeover = row !== undefined && (row.takeover || leftMs <= 0);
      rows.set(key, { owner, leaseEnd: now() + leaseMs, takeover });
      return { state: "claimed", takeover };
    },
    renew(key, owner, { leaseMs }) {
      const row = rows.get(key);
      if (row?.owner !== owner || row.leaseEnd <= now()) return false;
      row.leaseEnd = now() + leaseMs;
      return true;
    },
    complete(key, _owner, { retentionMs }) {
      rows.delete(key);
      if (!isCompleted(key)) completed.set(key, now() + retentionMs);
    },
    release(key, owner) {
      const row = rows.get(key);
      if (row?.owner !== owner) return;
      if (row.takeover) row.leaseEnd = now();
      else rows.delete(key);
    },
  };
}
