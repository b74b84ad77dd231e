import { memoryStore, type DeliveryStore, type TransactionalStore } from "../../src/index.js";
import { deferred, type Deferred } from "../support/deferred.js";
import { naiveStore, type StoreMistake } from "../support/testing/naive-store.js";
import {
  naiveTransactions,
  type TransactionMistake,
} from "../support/testing/naive-transactions.js";
import { Replay, STORE_LEASE_MS, type ReplayedStore, type Subject } from "./replay.js";
import { verify, type ModelName, type Step } from "./spin.js";
import {
  bothKeys,
  isRecordKey,
  receivers,
  recordReceivers,
  transactionalReceivers,
  workers,
  type RecordFlaw,
  type WorkerFlaw,
} from "./subjects.js";

/** The property that is no state: a sender that goes on is acknowledged. */
const LIVENESS = "acknowledged_at_last";

/** The code that a walk is played on. */
export type Played = readonly [store: ReplayedStore, subject: Subject];

/** A planted flaw: the property that it breaks, and the same flaw in code. */
interface Flaw {
  readonly bug: number;
  readonly property: string;
  readonly twin: string;
  readonly flawed: () => Played;
}

/** A model with its planted flaws, and the code without a flaw. */
interface Model {
  readonly right: () => Played;
  readonly flaws: readonly Flaw[];
}

/** A store whose clock is set. */
function clocked(make: (now: () => number) => DeliveryStore): ReplayedStore {
  let ms = 1_000;
  return { store: make(() => ms), endLease: () => (ms += STORE_LEASE_MS) };
}

/** A memory store whose clock is set. */
const remembering = (): ReplayedStore => clocked((now) => memoryStore({ now }));

const naive = (mistake: StoreMistake) => clocked((now) => naiveStore(now, mistake));

/** A store of two ids and a record, each with a clock of its own. */
function rememberingRecords(): ReplayedStore {
  const rows = [remembering(), remembering(), remembering()];
  const rowOf = (key: string) => rows[isRecordKey(key) ? 2 : Number(key.at(-1))]?.store ?? fail();
  return {
    store: {
      claim: (key, ...rest) => rowOf(key).claim(key, ...rest),
      renew: (key, ...rest) => rowOf(key).renew(key, ...rest),
      complete: (key, ...rest) => rowOf(key).complete(key, ...rest),
      release: (key, ...rest) => rowOf(key).release(key, ...rest),
    },
    endLease: (key, at) => rows[at]?.endLease(key, at),
  };
}

function fail(): never {
  throw new Error("there is no such row");
}

/** The calls of a transactional store in steps: `claim` begins, `complete` commits, `release` rolls back. */
export function inSteps<Tx>(store: TransactionalStore<Tx>): ReplayedStore {
  const open = new Map<string, { readonly end: Deferred<void>; readonly done: Promise<unknown> }>();
  const end = async (owner = "", error?: Error) => {
    const transaction = open.get(owner);
    open.delete(owner);
    if (error === undefined) transaction?.end.resolve();
    else transaction?.end.reject(error);
    await transaction?.done;
    return transaction !== undefined;
  };
  const rollBack = (owner?: string) => end(owner, new Error("rolled back"));
  return {
    store: {
      async claim(keys, owner, times) {
        const [key, recordKey] = bothKeys.split(keys);
        const [begun, ended] = [deferred(), deferred()];
        const work = () => {
          begun.resolve();
          return ended.promise;
        };
        const processed = store.process(key, work, { ...times, recordKey });
        const result = await Promise.race([begun.promise, processed]);
        if (result !== undefined && result.state !== "processed") return result;
        open.set(owner, { end: ended, done: processed.catch(() => undefined) });
        return { state: "claimed", takeover: false };
      },
      renew: () => false,
      // False: the transaction has ended before.
      complete: async (_key, owner) => ((await end(owner)) ? undefined : (false as never)),
      release: async (_key, owner) => {
        await rollBack(owner);
      },
    },
    endLease: (_key, _at, owner) => rollBack(owner),
    kill: rollBack,
    async end() {
      for (const owner of open.keys()) await rollBack(owner);
    },
  };
}

const naiveSteps = (mistake?: TransactionMistake) =>
  inSteps(naiveTransactions(() => 0, mistake).store);

const flaw = (bug: number, property: string, twin: string, flawed: () => Played): Flaw => ({
  bug,
  property,
  twin,
  flawed,
});
const leaseFlaw = (bug: number, property: string, mistake: StoreMistake) =>
  flaw(bug, property, mistake, () => [naive(mistake), receivers()]);
const transactionFlaw = (bug: number, property: string, mistake: TransactionMistake) =>
  flaw(bug, property, mistake, () => [naiveSteps(mistake), transactionalReceivers()]);
const recordFlaw = (bug: number, property: string, mistake: RecordFlaw) =>
  flaw(bug, property, mistake, () => [rememberingRecords(), recordReceivers(mistake)]);
const jobFlaw = (bug: number, property: string, mistake: WorkerFlaw) =>
  flaw(bug, property, mistake, () => [remembering(), workers(mistake)]);
const jobStoreFlaw = (bug: number, property: string, mistake: StoreMistake) =>
  flaw(bug, property, mistake, () => [naive(mistake), workers()]);

/** Each model by the name of its file. */
export const MODELS: Readonly<Record<ModelName, Model>> = {
  lease: {
    right: () => [remembering(), receivers()],
    flaws: [
      leaseFlaw(1, "no_run_after_completion", "forgets the lease"),
      leaseFlaw(2, "acknowledged_was_handled", "answers completed for what is in flight"),
      leaseFlaw(3, "no_claim_after_completion", "undoes the completion on release"),
      leaseFlaw(4, "repeat_is_takeover", "hides a takeover"),
      leaseFlaw(5, "repeat_is_takeover", "forgets a takeover that is released"),
      leaseFlaw(6, LIVENESS, "never ends a lease"),
      leaseFlaw(7, "no_claim_after_completion", "forgets the completion"),
      flaw(8, "acknowledged_was_handled", "acknowledges what is in flight", () => [
        remembering(),
        receivers("acknowledges"),
      ]),
      flaw(9, "one_in_a_process", "forgets its runs", () => [
        remembering(),
        receivers("forgets its runs"),
      ]),
      flaw(10, "no_run_after_completion", "has one owner for each process", () => [
        { ...remembering(), ownerOf: (process) => `process ${String(process)}` },
        receivers(),
      ]),
    ],
  },
  transaction: {
    right: () => [naiveSteps(), transactionalReceivers()],
    flaws: [
      transactionFlaw(1, "committed_once", "forgets records"),
      transactionFlaw(2, "acknowledged_was_committed", "answers completed for what is in flight"),
      transactionFlaw(3, "one_at_a_time", "runs a record under two ids at once"),
      transactionFlaw(4, "acknowledged_was_committed", "remembers an id whose work failed"),
      flaw(5, "acknowledged_was_committed", "acknowledges a failed commit", () => [
        naiveSteps(),
        transactionalReceivers("acknowledges a failed commit"),
      ]),
      transactionFlaw(6, "acknowledged_was_committed", "answers completed for a record in flight"),
    ],
  },
  record: {
    right: () => [rememberingRecords(), recordReceivers()],
    flaws: [
      recordFlaw(1, "no_run_after_completion", "forgets the record"),
      recordFlaw(2, "no_run_after_completion", "completes the id first"),
      recordFlaw(3, "acknowledged_was_handled", "takes a record in flight for handled"),
      recordFlaw(4, "repeat_is_takeover", "hides a takeover of the record"),
      recordFlaw(5, "acknowledged_is_remembered", "forgets the id of a known record"),
      recordFlaw(6, "one_at_a_time", "has no lease on the record"),
      recordFlaw(7, "one_in_a_process", "knows its runs by the delivery id alone"),
    ],
  },
  job: {
    right: () => [remembering(), workers()],
    flaws: [
      jobFlaw(1, "no_run_after_removal", "settles before it completes"),
      jobStoreFlaw(2, "removed_was_handled", "answers completed for what is in flight"),
      jobFlaw(3, "removed_was_handled", "settles a failure as done"),
      jobFlaw(4, "repeat_is_takeover", "claims the id of the message"),
      jobStoreFlaw(5, "repeat_is_takeover", "hides a takeover"),
      jobStoreFlaw(6, "one_at_a_time", "forgets the lease"),
      jobFlaw(7, "no_run_after_removal", "removes what only its process remembers"),
    ],
  },
};

/** Two requests are to one process, except in the model of transactions: there each is to one of its own. */
export const playOn = (model: ModelName, key: string, [store, subject]: Played): Replay =>
  new Replay(key, store, subject, model === "transaction" ? 3 : 2);

/** The steps that break a property in a flawed model, and what the model says is broken. */
export async function wayTo(model: ModelName, { bug, property }: Flaw) {
  const isLive = property === LIVENESS;
  const most = model === "lease" ? 4 : 2;
  const options = isLive ? { FAULTS: 1, LIVE: 1 as const } : { FAULTS: most, ONLY: property };
  const { trail = [] } = await verify(model, { BUG: bug, ...options });
  const broken = trail.find(({ name }) => name === "broken")?.result;
  const way = trail.filter(({ name }) => name !== "broken");
  return { way, broken: isLive && broken === undefined && way.length > 0 ? LIVENESS : broken };
}

/** What a flawed and a right code do on the way of a flaw: undefined for the flawed one, which agrees. */
export async function convict(model: ModelName, flawed: Flaw, way: readonly Step[]) {
  return {
    flawed: await playOn(model, "flawed", flawed.flawed()).play(way),
    right: await playOn(model, "right", MODELS[model].right()).play(way),
  };
}
