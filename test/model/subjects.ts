import { inboxConsume } from "../../src/inbox/index.js";
import {
  createWebhookReceiver,
  type DeliveryStore,
  type TransactionalStore,
  type WebhookReceiver,
} from "../../src/index.js";
import { ownerOfBoth, TwoKeyStore } from "../../src/handling/once-per-record.js";
import { NOW_MS, NOW_SECONDS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";
import { REPLAYED_TIMES, type Subject, type Tools } from "./replay.js";

const RECEIVER_OPTIONS = {
  secret: TEST_SECRET,
  logger: false,
  now: () => NOW_MS,
  ...REPLAYED_TIMES,
} as const;

const OUTCOMES: Readonly<Record<string, string>> = {
  handler_failed: "failed",
  store_unavailable: "unavailable",
  handler_timeout: "timed_out",
};

async function answerOf(receiver: WebhookReceiver, id: string): Promise<string> {
  const { outcome } = await receiver.receive(await delivery({ id }));
  return OUTCOMES[outcome] ?? outcome;
}

/** Requests 0 and 2 have one id, request 1 has another. */
const idOf = (key: string, request: number): string => `${key}.${request === 1 ? "1" : "0"}`;

/** Receivers with a `DeliveryStore`, and what they can be made to do wrong. */
export const receivers = (flaw?: "acknowledges" | "forgets its runs"): Subject => ({
  start({ key, store, handlers }) {
    const make = () => createWebhookReceiver({ ...RECEIVER_OPTIONS, store, handlers });
    let receiver = make();
    return async () => {
      if (flaw === "forgets its runs") receiver = make();
      const answer = await answerOf(receiver, key);
      return flaw === "acknowledges" && answer === "in_flight" ? "duplicate" : answer;
    };
  },
});

let transactions = 0;

/** Both keys of a transaction as the key of one call. */
export const bothKeys = {
  join: (key: string, recordKey = "") => `${key} ${recordKey}`,
  split: (joined: string) => joined.split(" ") as [key: string, recordKey: string],
};

/**
 * Receivers with a `TransactionalStore` and `once: "record"`: `claim` begins a transaction, `complete` commits it,
 * `release` rolls it back.
 */
export const transactionalReceivers = (flaw?: "acknowledges a failed commit"): Subject => ({
  start({ key, store, handlers }) {
    const process: TransactionalStore<unknown>["process"] = async (id, work, options) => {
      const owner = `transaction ${String((transactions += 1))}`;
      const times = { leaseMs: REPLAYED_TIMES.leaseMs, retentionMs: options.retentionMs };
      const keys = bothKeys.join(id, options.recordKey);
      let hasRun = false;
      try {
        const claim = await store.claim(keys, owner, times);
        if (claim.state !== "claimed") return claim;
        await work(undefined);
        hasRun = true;
        const committed = await Promise.resolve<unknown>(store.complete(keys, owner, times));
        if (committed === false) throw new Error("the transaction has ended");
      } catch (error) {
        if (hasRun && flaw !== undefined) return { state: "processed" };
        await store.release(keys, owner);
        throw error;
      }
      return { state: "processed" };
    };
    const receiver = createWebhookReceiver({
      ...RECEIVER_OPTIONS,
      store: { process, remembersRecords: true },
      handlers,
      // Walks share a database, and the record of one is not that of another.
      once: () => key,
    });
    return (request) => answerOf(receiver, idOf(key, request));
  },
});

/** What a receiver with `once: "record"` can be made to do wrong. */
export type RecordFlaw =
  | "forgets the record"
  | "completes the id first"
  | "takes a record in flight for handled"
  | "hides a takeover of the record"
  | "forgets the id of a known record"
  | "has no lease on the record"
  | "knows its runs by the delivery id alone";

/** Receivers with `once: "record"`. */
export const recordReceivers = (flaw?: RecordFlaw): Subject => ({
  start({ key, store, handlers }) {
    const isBlind = flaw === "knows its runs by the delivery id alone";
    const receiver = createWebhookReceiver({
      ...RECEIVER_OPTIONS,
      store: isBlind ? twoKeys(store, `record#${key}`) : flawedStore(store, flaw),
      handlers,
      once: isBlind ? "delivery" : "record",
    });
    return (request) => answerOf(receiver, idOf(key, request));
  },
});

/** A store whose claims hold the record too, so that the receiver itself knows nothing of it. */
function twoKeys(store: DeliveryStore, recordKey: string): DeliveryStore {
  const both = new TwoKeyStore(store);
  const ownerOf = (owner: string) => ownerOfBoth(owner, recordKey);
  return {
    claim: (id, owner, options) => both.claim(id, ownerOf(owner), options),
    renew: (id, owner, options) => both.renew(id, ownerOf(owner), options),
    complete: (id, owner, options) => both.complete(id, ownerOf(owner), options),
    release: (id, owner) => both.release(id, ownerOf(owner)),
  };
}

/** Whether a key is that of a record. */
export const isRecordKey = (key: string): boolean => key.startsWith("record#");

function flawedStore(store: DeliveryStore, flaw: RecordFlaw | undefined): DeliveryStore {
  /** The record that an owner has completed. */
  const records = new Map<string, string>();
  return {
    ...store,
    async claim(key, owner, options) {
      const result = await store.claim(key, owner, options);
      if (!isRecordKey(key)) return result;
      if (result.state === "in_flight") {
        if (flaw === "takes a record in flight for handled") return { state: "completed" };
        if (flaw === "has no lease on the record") return { state: "claimed", takeover: false };
      }
      const isHidden = flaw === "hides a takeover of the record" && result.state === "claimed";
      return isHidden ? { state: "claimed", takeover: false } : result;
    },
    async complete(key, owner, options) {
      const record = records.get(owner);
      if (isRecordKey(key)) {
        records.set(owner, key);
        if (flaw === "forgets the record" || flaw === "completes the id first") return;
      } else if (flaw === "forgets the id of a known record" && record === undefined) return;
      await store.complete(key, owner, options);
      if (flaw === "completes the id first" && record !== undefined) {
        await store.complete(record, owner, options);
      }
    },
  };
}

/** What a worker can be made to do wrong. */
export type WorkerFlaw =
  | "settles before it completes"
  | "settles a failure as done"
  | "claims the id of the message"
  | "removes what only its process remembers";

/** Workers of `inboxConsume`, and a broker that has one delivery in two messages. */
export function workers(flaw?: WorkerFlaw): Subject {
  const body = JSON.stringify({ alarm: alarm() });
  const job = { version: 1, type: "new_alarm", timestamp: NOW_SECONDS, encoding: "utf-8", body };
  /** The receipt of who holds a message; undefined: it is ready; "gone": it is removed. */
  const holders: unknown[] = [undefined, undefined];

  const start = ({ key, store, handlers, hold, say }: Tools) => {
    let completeLate: (() => unknown) | undefined;
    let isPending = false;
    const { run } = inboxConsume({
      driver: { extends: "never" },
      store: {
        ...store,
        async complete(...given) {
          completeLate = () => store.complete(...given);
          if (flaw === "settles before it completes") return;
          isPending = true;
          await completeLate();
          isPending = false;
        },
      },
      handlers,
      logger: false,
      leaseMs: REPLAYED_TIMES.leaseMs,
      dependencyTimeoutMs: REPLAYED_TIMES.dependencyTimeoutMs,
    });
    return async (request: number): Promise<undefined> => {
      const message = holders[0] === undefined ? 0 : 1;
      const receipt = (holders[message] = Symbol("receipt"));
      completeLate = undefined;
      const id = flaw === "claims the id of the message" ? `${key}.${String(message)}` : key;
      await run({
        id: String(message),
        data: { ...job, id },
        attempt: 1,
        async settle(settlement) {
          const hasFailed = settlement.result === "retry" && settlement.error !== undefined;
          const isFlawed = flaw === "settles a failure as done" && hasFailed;
          const isRemembered = flaw === "removes what only its process remembers" && isPending;
          const isDone = settlement.result === "done" || isFlawed || isRemembered;
          say(request, isDone ? "done" : "retry");
          const isTaken = await hold(request, () => {
            if (holders[message] !== receipt) return false;
            holders[message] = isDone ? "gone" : undefined;
            return true;
          });
          if (flaw === "settles before it completes") await completeLate?.();
          return isTaken === true;
        },
      });
    };
  };
  return {
    start,
    lapse(message) {
      holders[message] = undefined;
    },
  };
}
