import { describe, expect, it } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  createWebhookReceiver,
  type TransactionalStore,
  type WebhookRequest,
} from "../../src/index.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";
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

describe("transactional handlers", () => {
  it.each<[string, (context: Context) => unknown]>([
    ["returns", writes],
    [
      "resolves",
      async (context) => {
        await Promise.resolve();
        writes(context);
      },
    ],
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
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
    expect(effects).toEqual(["one"]);
    expect([...remembered]).toEqual([["one", 7 * 86_400_000]]);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
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
    const seen: unknown[] = [];
    const { options, reports } = createCollector();
    const store: TransactionalStore<undefined> = {
      async process(_key, work) {
        await work(undefined, facts as { takeover: boolean });
        return { state: "processed" };
      },
    };
    const handler = (context: { readonly takeover: boolean }) => seen.push(context.takeover);
    const receiver = transactionalReceiver(store, handler, options);
    const response = await receiver.receive(await delivery({ id: "one" }));
    expect(response).toMatchObject({ status: 200, outcome: "handled" });
    expect(seen).toEqual([takeover]);
    expect(reports.map((report) => report.takeover)).toEqual([takeover || undefined]);
  });

  it("event handlers and handlers.unrecognized receive tx too", async () => {
    const { store, effects } = createDatabase();
    const { receive } = createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      retentionMs: 72 * 3_600_000,
      store,
      handlers: {
        delete_my_data_event: {
          DATA_DELETED: ({ site_name }, { tx }) => tx.write(site_name),
          "*": ({ type }, { tx }) => tx.write(type),
        },
        unrecognized({ issues }, { tx }) {
          tx.write(`${issues.length} issues`);
        },
      },
    });
    await receive(await eventDelivery("DATA_DELETED", { id: "a" }));
    await receive(await eventDelivery("DATA_REAPPEARED", { id: "b" }));
    await receive(await delivery({ id: "c", body: "[]" }));
    expect(effects).toEqual(["Example Broker", "DATA_REAPPEARED", "1 issues"]);
  });

  it.each<[string, () => Promise<WebhookRequest>]>([
    ["an alarm", () => delivery()],
    [
      "an alarm that has to be converted",
      () => delivery({ body: JSON.stringify({ alarm: alarm({ account_id: "42" }) }) }),
    ],
    ["an event", () => eventDelivery("DATA_DELETED")],
    ["an event of a type that was added since", () => eventDelivery("ADDED_SINCE")],
    ["a body without a record", () => delivery({ body: '{"later":{"id":1}}' })],
    ["a body that is no JSON", () => delivery({ body: "{" })],
  ])(
    "a transactional handler that runs again gets its delivery as it was sent: %s",
    async (_what, requestOf) => {
      const store: TransactionalStore<undefined> = {
        async process(_key, work) {
          // As after a serialization failure.
          await work(undefined).catch(() => undefined);
          await work(undefined);
          return { state: "processed" };
        },
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
      const { receive } = createWebhookReceiver({
        secret: TEST_SECRET,
        logger: false,
        now: () => NOW_MS,
        store,
        handlers: {
          new_alarm: handler,
          delete_my_data_event: { DATA_DELETED: handler },
          unrecognized: handler,
        },
      });
      expect(await receive(await requestOf())).toMatchObject({ outcome: "handled" });
      expect(seen).toHaveLength(2);
      expect(seen[1]).toBe(seen[0]);
    },
  );

  it("the context has no tx if the store is not transactional", async () => {
    let seen: object | undefined;
    const { receive } = recordingReceiver({
      handlers: { new_alarm: (_alarm, context) => (seen = context) },
    });
    await receive(await delivery());
    expect(seen).toBeDefined();
    expect(seen).not.toHaveProperty("tx");
  });
});

describe("failed transactional handlers", () => {
  it.each<[string, unknown, object, object]>([
    ["throws", new Error("no"), { status: 500, outcome: "handler_failed" }, {}],
    ["throws undefined", undefined, { status: 500, outcome: "handler_failed" }, {}],
    [
      "asks to retry later",
      new RetryLater({ afterMs: 5_000 }),
      { status: 503, outcome: "retry_later" },
      { "retry-after": "5" },
    ],
  ])("a handler that %s is rolled back and runs again", async (_how, error, answer, headers) => {
    let runs = 0;
    const { receiver, effects, remembered, reports } = scene((context) => {
      writes(context);
      runs += 1;
      if (runs === 1) throw error;
    });
    const repeated = await delivery({ id: "one" });
    const response = await receiver.receive(repeated);
    expect(response).toMatchObject(answer);
    expect(response.headers).toMatchObject(headers);
    expect(effects).toEqual([]);
    expect(remembered.size).toBe(0);
    expect(reports[0]?.error).toEqual(
      error ?? expect.objectContaining({ code: "threw_undefined" }),
    );
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
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
  const DISCARDED = { status: 200, outcome: "discarded" };
  const UNAVAILABLE = { status: 503, outcome: "store_unavailable" };

  it("a discarded delivery is rolled back and remembered", async () => {
    const error = new DiscardDelivery({ reason: "account is closed" });
    const { receiver, effects, remembered, reports, calls } = scene((context) => {
      writes(context);
      throw error;
    });
    const repeated = await delivery({ id: "one" });
    expect(await receiver.receive(repeated)).toMatchObject(DISCARDED);
    expect(effects).toEqual([]);
    expect([...remembered.keys()]).toEqual(["one"]);
    expect(calls).toEqual(["one", "one"]);
    expect(reports).toMatchObject([{ outcome: "discarded", error }]);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
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
    expect(await receiver.receive(await delivery())).toMatchObject(DISCARDED);
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
    expect(await receiver.receive(repeated)).toMatchObject(UNAVAILABLE);
    expect(reports).toMatchObject([{ error: DOWN }]);
    faults[step] = undefined;
    const outcome = step === "committed" ? "duplicate" : "store_unavailable";
    expect(await receiver.receive(repeated)).toMatchObject({ outcome });
    expect(remembered.size).toBe(step === "committed" ? 1 : 0);
  });
});
