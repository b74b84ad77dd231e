import { describe, expect, it } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  createWebhookReceiver,
  type DeliveryContext,
  type DeliveryStore,
  type WebhookHandlers,
} from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  UNAVAILABLE,
  answerOf,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { alarmBody, delivery, eventDelivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { DOWN, rejects } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import {
  createDatabase,
  transactionalScene as scene,
  writesId as writes,
  type DatabaseFaults,
  type SimulatedContext as Context,
  type SimulatedTx,
} from "../support/transactional/transactional-database.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

/** A receiver with handlers of every kind. */
const receiverOf = <Tx>(store: object, handlers: WebhookHandlers<DeliveryContext<Tx>>) =>
  createWebhookReceiver<Tx>({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    store,
    handlers,
  } as never);

describe("transactional handlers", () => {
  it.each<[string, (context: Context) => unknown]>([
    ["returns", writes],
    ["resolves", (context) => Promise.resolve().then(() => writes(context))],
    [
      "returns what has a then",
      (context) => ({
        then(resolve: () => void) {
          writes(context);
          resolve();
        },
      }),
    ],
  ])("a transactional handler that %s is committed with its id", async (_how, handler) => {
    const { receiver, effects, remembered, reports } = scene(handler);
    const repeated = await delivery({ id: "one" });
    expect(await send(receiver, repeated)).toBe(HANDLED);
    expect(effects).toEqual(["one"]);
    expect([...remembered]).toEqual([["one", 7 * 86_400_000]]);
    expect(await send(receiver, repeated)).toBe(DUPLICATE);
    expect(effects).toEqual(["one"]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(["handled", "duplicate"]);
    expect(reports[0]).not.toHaveProperty("takeover");
  });

  it("a transactional handler receives tx in addition to the usual context", async () => {
    let seen: Context | undefined;
    const { receiver } = scene((context) => (seen = context));
    const repeated = await delivery({ id: "one" });
    await receiver.receive(repeated);
    expect(seen).toMatchObject({
      id: "one",
      type: "new_alarm",
      timestamp: new Date(NOW_MS),
      takeover: false,
      signal: { aborted: false },
      tx: { write: expect.any(Function) as unknown },
    });
    expect(new TextDecoder().decode(seen?.rawBody)).toBe(repeated.body);
    expect(Object.keys(seen ?? {})).toContain("tx");
  });

  it.each<[unknown, boolean]>([
    [{ takeover: true }, true],
    [{ takeover: false }, false],
    [{ takeover: "true" }, false],
    [{}, false],
    [null, false],
    [undefined, false],
  ])("takeover is true only if the store says so: %j", async (facts, takeover) => {
    const process = async (_key: string, work: (...given: unknown[]) => Promise<void>) => {
      await work(undefined, facts);
      return { state: "processed" };
    };
    const store = { process } as object as DeliveryStore;
    const { send, runs, reports } = observedAlarmReceiver(undefined, { store });
    expect(await send()).toBe(HANDLED);
    expect(runs.map((context) => context.takeover)).toEqual([takeover]);
    expect(reports.map((report) => report.takeover)).toEqual([takeover || undefined]);
  });

  it("event handlers and handlers.unrecognized receive tx too", async () => {
    const { store, effects } = createDatabase();
    const { receive } = receiverOf<SimulatedTx>(store, {
      delete_my_data_event: {
        DATA_DELETED: ({ site_name }, { tx }) => tx.write(site_name),
        "*": ({ type }, { tx }) => tx.write(type),
      },
      unrecognized: ({ issues }, { tx }) => tx.write(`${issues.length} issues`),
    });
    await receive(await eventDelivery("DATA_DELETED", { id: "a" }));
    await receive(await eventDelivery("DATA_REAPPEARED", { id: "b" }));
    await receive(await delivery({ id: "c", body: "[]" }));
    expect(effects).toEqual(["Example Broker", "DATA_REAPPEARED", "1 issues"]);
  });

  it.each([
    ["an alarm", delivery()],
    ["an alarm to convert", delivery({ body: alarmBody({ account_id: "42" }) })],
    ["an event", eventDelivery("DATA_DELETED")],
    ["an event of a type that was added since", eventDelivery("ADDED_SINCE")],
    ["a body without a record", delivery({ body: '{"later":{"id":1}}' })],
    ["a body that is no JSON", delivery({ body: "{" })],
  ])(
    "a transactional handler that runs again gets its delivery as it was sent: %s",
    async (_what, request) => {
      const process = async (_key: string, work: () => Promise<void>) => {
        // As after a serialization failure.
        await work().catch(() => undefined);
        await work();
        return { state: "processed" };
      };
      const seen: string[] = [];
      const handler = (given: object): void => {
        seen.push(JSON.stringify(given));
        const inner = Object.values(given).find(
          (value) => typeof value === "object" && value !== null && !Array.isArray(value),
        ) as object | undefined;
        Object.assign(inner ?? given, { id: "changed", account_id: 0, type: "changed" });
        if (seen.length === 1) throw new Error("could not serialize access");
      };
      const receiver = receiverOf(
        { process },
        {
          new_alarm: handler,
          delete_my_data_event: { DATA_DELETED: handler },
          unrecognized: handler,
        },
      );
      expect(await send(receiver, await request)).toBe(HANDLED);
      expect(seen).toHaveLength(2);
      expect(seen[1]).toBe(seen[0]);
    },
  );

  it("the context has no tx if the store is not transactional", async () => {
    const { send, runs } = observedAlarmReceiver();
    expect(await send()).toBe(HANDLED);
    expect(runs[0]).not.toHaveProperty("tx");
  });
});

describe("failed transactional handlers", () => {
  const later = new RetryLater({ afterMs: 5_000 });
  it.each<[string, unknown, string, object]>([
    ["throws", new Error("no"), "500 handler_failed", {}],
    ["throws undefined", undefined, "500 handler_failed", {}],
    ["asks to retry later", later, "503 retry_later", { "retry-after": "5" }],
  ])("a handler that %s is rolled back and runs again", async (_how, error, answer, headers) => {
    let runs = 0;
    const { receiver, effects, remembered, reports } = scene((context) => {
      writes(context);
      runs += 1;
      if (runs === 1) throw error;
    });
    const repeated = await delivery({ id: "one" });
    const response = await receiver.receive(repeated);
    expect(await answerOf(response)).toBe(answer);
    expect(response.headers).toMatchObject(headers);
    expect(effects).toEqual([]);
    expect(remembered.size).toBe(0);
    expect(reports[0]?.error).toEqual(
      error ?? expect.objectContaining({ code: "threw_undefined" }),
    );
    expect(await send(receiver, repeated)).toBe(HANDLED);
    expect(effects).toEqual(["one"]);
  });

  it("a handler's failure is reported as its own even if the ROLLBACK fails", async () => {
    const error = new Error("the handler's own");
    const { receiver, reports } = scene(() => Promise.reject(error), { rollback: rejects });
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handler_failed" });
    expect(reports[0]).toMatchObject({ error });
  });
});

describe("discarding transactional handlers", () => {
  const DISCARDED = "200 discarded";

  it("a discarded delivery is rolled back and remembered", async () => {
    const error = new DiscardDelivery({ reason: "account is closed" });
    const { receiver, effects, remembered, reports, calls } = scene((context) => {
      writes(context);
      throw error;
    });
    const repeated = await delivery({ id: "one" });
    expect(await send(receiver, repeated)).toBe(DISCARDED);
    expect(effects).toEqual([]);
    expect([...remembered.keys()]).toEqual(["one"]);
    expect(calls).toEqual(["one", "one"]);
    expect(reports).toMatchObject([{ outcome: "discarded", error }]);
    expect(await send(receiver, repeated)).toBe(DUPLICATE);
  });

  it("a discarded delivery stays discarded if another process remembered it first", async () => {
    const faults: DatabaseFaults = {};
    const { receiver, store, effects } = scene(async ({ id }) => {
      await Promise.resolve();
      faults.connect = async () => {
        faults.connect = undefined;
        await store.process(id, () => Promise.resolve(), { retentionMs: 1 });
      };
      throw new DiscardDelivery();
    }, faults);
    expect(await send(receiver)).toBe(DISCARDED);
    expect(effects).toEqual([]);
  });

  it.each<[string, "connect" | "commit" | "committed"]>([
    ["has no connection", "connect"],
    ["cannot commit", "commit"],
    ["loses the answer to COMMIT", "committed"],
  ])("a discarded delivery is 503 if the database then %s", async (_how, step) => {
    const faults: DatabaseFaults = {};
    const { receiver, remembered, reports } = scene(() => {
      faults[step] = rejects;
      throw new DiscardDelivery();
    }, faults);
    const repeated = await delivery();
    expect(await send(receiver, repeated)).toBe(UNAVAILABLE);
    expect(reports).toMatchObject([{ error: DOWN }]);
    faults[step] = undefined;
    const outcome = step === "committed" ? "duplicate" : "store_unavailable";
    expect(await receiver.receive(repeated)).toMatchObject({ outcome });
    expect(remembered.size).toBe(step === "committed" ? 1 : 0);
  });
});

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
    expect(await send(receiver, repeated)).toBe(UNAVAILABLE);
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
    expect(await send(receiver, repeated)).toBe(DUPLICATE);
  });
});

describe("stores that repeat their work", () => {
  const conflict = Object.assign(new Error("could not serialize access"), { code: "40001" });

  /** A store that tries twice, as after a serialization failure. */
  const retrying = (between: () => Promise<unknown> = () => Promise.resolve()) => {
    const { store, effects } = createDatabase();
    const process = async (...given: Parameters<typeof store.process>) => {
      try {
        return await store.process(...given);
      } catch (error) {
        if (error !== conflict) throw error;
        await between();
        return store.process(...given);
      }
    };
    return { store: { process }, effects };
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
    expect(await send(receiver, "one")).toBe(HANDLED);
    expect(effects).toEqual(["one"]);
    expect(contexts).toHaveLength(2);
    expect(contexts[0]?.tx).not.toBe(contexts[1]?.tx);
  });

  it.each([
    ["handler_failed if the last run fails", false, "500 handler_failed"],
    ["a duplicate if another process was faster", true, DUPLICATE],
  ])("a store that repeats its work reports %s", async (_what, isFaster, answer) => {
    const { store, effects } = retrying(async () => {
      if (isFaster) await store.process("one", () => Promise.resolve(), { retentionMs: 1 });
    });
    const receiver = transactionalReceiver(store, (context) => {
      writes(context);
      throw conflict;
    });
    expect(await send(receiver, "one")).toBe(answer);
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
});
