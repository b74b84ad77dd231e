import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { createWebhookReceiver } from "../../src/index.js";
import { delivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { DOWN, rejects } from "../support/faults.js";
import {
  createDatabase,
  type DatabaseFaults,
} from "../support/transactional/transactional-database.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";
import {
  transactionalScene as scene,
  writesId as writes,
  type SimulatedContext as Context,
} from "../support/transactional/transactional-scene.js";

const HANDLED = { status: 200, outcome: "handled" };
const DUPLICATE = { status: 200, outcome: "duplicate" };
const UNAVAILABLE = { status: 503, outcome: "store_unavailable" };

describe("database faults", () => {
  it.each<[string, keyof DatabaseFaults, number, string]>([
    ["before the handler", "connect", 0, "handled"],
    ["at COMMIT, which is not done", "commit", 1, "handled"],
    ["after COMMIT, whose answer is lost", "committed", 1, "duplicate"],
  ])("a database fault %s is 503", async (_when, step, runsBefore, outcome) => {
    let runs = 0;
    const faults: DatabaseFaults = { [step]: rejects };
    const { receiver, effects, reports } = scene((context) => {
      runs += 1;
      writes(context);
    }, faults);
    const repeated = await delivery({ id: "one" });
    expect(await receiver.receive(repeated)).toMatchObject(UNAVAILABLE);
    expect(reports).toMatchObject([{ error: DOWN }]);
    expect(runs).toBe(runsBefore);
    faults[step] = undefined;
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome });
    expect(effects).toEqual(["one"]);
  });

  it("a row that another process has locked is 409 with the store's Retry-After", async () => {
    const { store } = createDatabase();
    const lock = deferred();
    const elsewhere = store.process("one", () => lock.promise, { retentionMs: 1 });
    const receiver = transactionalReceiver(store, writes);
    const repeated = await delivery({ id: "one" });
    const response = await receiver.receive(repeated);
    expect(response).toMatchObject({ status: 409, outcome: "in_flight" });
    expect(response.headers["retry-after"]).toBe("2");
    lock.resolve();
    await elsewhere;
    expect(await receiver.receive(repeated)).toMatchObject(DUPLICATE);
  });
});

describe("stores that repeat their work", () => {
  const conflict = Object.assign(new Error("could not serialize access"), { code: "40001" });

  /** Tries twice, as stores do after a serialization failure. */
  const retrying = (between: () => Promise<unknown> = () => Promise.resolve()) => {
    const { store, ...database } = createDatabase();
    return {
      ...database,
      store: {
        async process(...given: Parameters<typeof store.process>) {
          try {
            return await store.process(...given);
          } catch (error) {
            if (error !== conflict) throw error;
            await between();
            return store.process(...given);
          }
        },
      },
    };
  };

  it("a store that repeats its work gets the handler's own error, and the last run counts", async () => {
    const contexts: Context[] = [];
    const { store, effects } = retrying();
    const receiver = transactionalReceiver(store, async (context) => {
      contexts.push(context);
      writes(context);
      await Promise.resolve();
      if (contexts.length === 1) throw conflict;
    });
    expect(await receiver.receive(await delivery({ id: "one" }))).toMatchObject(HANDLED);
    expect(effects).toEqual(["one"]);
    expect(contexts).toHaveLength(2);
    expect(contexts[0]?.tx).not.toBe(contexts[1]?.tx);
  });

  it("a run that is repeated gets the record as it was sent, whatever the first run made of it", async () => {
    const texts: string[] = [];
    const { store } = retrying();
    const receiver = createWebhookReceiver({
      store,
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      handlers: {
        new_alarm(alarm: { text: string }) {
          texts.push(alarm.text);
          alarm.text = "changed by the first run";
          if (texts.length === 1) throw conflict;
        },
      },
    });
    expect(await receiver.receive(await delivery())).toMatchObject(HANDLED);
    expect(texts[1]).toBe(texts[0]);
  });

  it("a store that repeats its work reports handler_failed if the last run fails", async () => {
    const { store, effects } = retrying();
    const receiver = transactionalReceiver(store, (context) => {
      writes(context);
      throw conflict;
    });
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handler_failed" });
    expect(effects).toEqual([]);
  });

  it("a store that repeats its work reports a duplicate if another process was faster", async () => {
    const { store, effects } = retrying(() =>
      store.process("one", () => Promise.resolve(), { retentionMs: 1 }),
    );
    const receiver = transactionalReceiver(store, (context) => {
      writes(context);
      throw conflict;
    });
    expect(await receiver.receive(await delivery({ id: "one" }))).toMatchObject(DUPLICATE);
    expect(effects).toEqual([]);
  });
});

describe("the store of a receiver", () => {
  const process = () => Promise.resolve({ state: "completed" });
  const claim = () => ({ state: "completed" });

  it.each<[string, object, RegExp]>([
    ["both kinds at once", { process, claim }, /process and claim.*not both/],
    ["neither kind", {}, /claim.*process/],
    ["a misspelt one", { proces: process }, /claim.*process/],
    ["one whose process is no function", { process: true }, /claim.*process/],
  ])("the store of a receiver may not be %s", (_what, store, message) => {
    expect(() => recordingReceiver({ store } as object)).toThrow(
      expect.objectContaining({
        name: "ConfigurationError",
        code: "invalid_store",
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });

  it("the transactional store may be an instance of a class and is called as a method", async () => {
    class Store {
      readonly #keys: string[] = [];
      async process(key: string, work: (tx: string[]) => Promise<void>) {
        await work(this.#keys);
        this.#keys.push(key);
        return { state: "processed" as const };
      }
    }
    let seen: string[] | undefined;
    const receiver = transactionalReceiver(new Store(), ({ tx }) => (seen = tx));
    expect(await receiver.receive(await delivery({ id: "one" }))).toMatchObject({ status: 200 });
    expect(seen).toEqual(["one"]);
  });

  it("the transactional store receives only verified ids and nothing else of the request", async () => {
    const { receiver, calls } = scene(writes);
    const genuine = await delivery({ id: "one" });
    const forged = { ...genuine, headers: { ...genuine.headers, "x-webhook-id": "two" } };
    expect(await receiver.receive(forged)).toMatchObject({ outcome: "signature_mismatch" });
    expect(calls).toEqual([]);
    await receiver.receive(genuine);
    expect(calls).toEqual(["one"]);
  });
});
