import { hasCode } from "../../src/common/errors.js";
import { EventEmitter, once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { ProcessResult } from "../../src/stores/transactional-store.js";
import { ensure } from "./store-verbs.js";
import type { Handler, TransactionChecks, TransactionVerbs } from "./transaction-verbs.js";

const RACERS = 8;
/** How long a handler stays open for a call that may wait for its end. A slow store is only judged less. */
const PATIENCE_MS = 300;
const FAILURE = new Error("the handler failed");

/** Rules for deliveries that come at the same time. */
export const transactionRaceChecks = {
  async open(store) {
    ensureInFlight((await whileOpen(store, () => copyOf(store.other))).before);
    await store.other.completed("k");
    await store.rows(["k"]);
  },
  async "open-own"(store) {
    ensureInFlight((await whileOpen(store, () => copyOf(store))).before);
    await store.completed("k");
    await store.rows(["k"]);
  },
  async "open-fails"(store) {
    const { after } = await whileOpen(store, () => copyOf(store.other), FAILURE);
    ensure(after?.state !== "completed", "what has failed must not be completed", after);
    // A copy that has waited is processed itself.
    if (after?.state !== "processed") await store.processed("k", { row: "copy" });
    await store.completed("k");
    await store.rows(["copy"]);
  },
  async race(store) {
    await raced(store, (client, _, handler) => client.process("k", handler));
    await store.completed("k");
  },
  async apart(store) {
    const { after } = await whileOpen(store, () => store.process("other"), FAILURE);
    if (after === undefined) await store.processed("other");
    else ensure(after.state === "processed", "the other delivery must be processed", after);
    await store.rows(["other"]);
    await store.completed("other");
    await store.processed("k");
  },
} satisfies TransactionChecks;

/** Makes many calls at once through both clients. Expects that one of them is processed, and writes the row "k". */
async function raced(
  store: TransactionVerbs,
  call: (client: TransactionVerbs, at: number, handler: Handler) => Promise<ProcessResult>,
): Promise<void> {
  let running = 0;
  let most = 0;
  const handler: Handler = {
    async more() {
      running += 1;
      most = Math.max(most, running);
      await wait(5);
      running -= 1;
    },
  };
  const calls = Array.from({ length: RACERS }, (_, index) =>
    orRefused(call(index % 2 === 0 ? store : store.other, index, handler)),
  );
  const results = await Promise.all(calls);
  const processed = results.filter((result) => result?.state === "processed");
  ensure(processed.length === 1, `one of ${RACERS} calls must be processed`, results);
  ensure(most === 1, "two of the handlers must not run at the same time", { running: most });
  await store.rows(["k"]);
}

interface Answers {
  /** What the other call answered while the delivery was open; undefined if it waits or was refused. */
  readonly before: ProcessResult | undefined;
  /** What it answered in the end; undefined if it was refused. */
  readonly after: ProcessResult | undefined;
}

/** Makes another call while the handler of a delivery is open. With `failure` that handler fails in the end. */
async function whileOpen(
  store: TransactionVerbs,
  call: () => Promise<ProcessResult>,
  failure?: Error,
  recordKey?: string,
): Promise<Answers> {
  const gate = new EventEmitter();
  const opened = once(gate, "opened");
  const more = async (): Promise<void> => {
    const ended = once(gate, "end");
    gate.emit("opened");
    await ended;
    if (failure !== undefined) throw failure;
  };
  const first = store.process("k", { more, recordKey }).catch((error: unknown) => ({ error }));
  await Promise.race([opened, first]);
  const other = orRefused(call());
  const before = await Promise.race([other, wait(PATIENCE_MS, undefined)]);
  // Before any check, so that no transaction is open when the case ends.
  gate.emit("end");
  const [result, after] = await Promise.all([first, other]);
  const isAsExpected =
    failure === undefined
      ? "state" in result && result.state === "processed"
      : "error" in result && result.error === failure;
  const rule = failure === undefined ? "be processed" : "reject with the error of its handler";
  ensure(isAsExpected, `process of k must ${rule}`, result);
  return { before, after };
}

function copyOf(store: TransactionVerbs): Promise<ProcessResult> {
  return store.process("k", { row: "copy" });
}

/** A database may refuse a call that waits too long for a lock: the gateway is then answered 503. */
function orRefused(call: Promise<ProcessResult>): Promise<ProcessResult | undefined> {
  return call.catch((error: unknown) => {
    // A call that never settles is no refusal.
    if (hasCode(error, "contract_broken")) throw error;
    return undefined;
  });
}

function ensureInFlight(result: ProcessResult | undefined): void {
  if (result === undefined) return;
  const isInFlight = result.state === "in_flight" && result.retryAfterMs > 0;
  ensure(isInFlight, "it must be in flight, with a retryAfterMs above 0", result);
}

const recordKey = "the record";

/** Rules for the second key of a delivery, that of its record. */
export const transactionRecordChecks = {
  async record(store) {
    await store.processed("first", { recordKey });
    await knownRecord(store.other, "second");
    await store.completed("second");
    await store.rows(["first"]);
    await store.processed("third", { recordKey: "another record" });
  },
  async "record-fails"(store) {
    await store.failed("first", FAILURE, recordKey);
    await store.other.processed("second", { recordKey });
    await knownRecord(store, "first");
    await store.rows(["second"]);
  },
  async "record-open"(store) {
    const copy = (): ReturnType<typeof store.process> =>
      store.other.process("copy", { recordKey, row: "copy" });
    ensureInFlight((await whileOpen(store, copy, undefined, recordKey)).before);
    // One that has waited is remembered by now. Any other one is as soon as it comes again.
    const again = await copy();
    ensure(again.state === "completed", "the copy must be completed", again);
    await store.rows(["k"]);
  },
  async "record-race"(store) {
    await raced(store, (client, at, handler) =>
      client.process(`k${at}`, { ...handler, row: "k", recordKey }),
    );
    await knownRecord(store, "late");
  },
} satisfies TransactionChecks;

/** Expects that a new key is completed without its handler, because its record was handled. */
async function knownRecord(store: TransactionVerbs, key: string): Promise<void> {
  const result = await store.process(key, { recordKey, row: `${key} again` });
  const isKnown = result.state === "completed" && result.sameRecord === true;
  ensure(isKnown, `${key} must be completed, with sameRecord`, result);
}
