import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createWebhookReceiver, DiscardDelivery, RetryLater } from "../../../src/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { NOW_MS, TEST_SECRET, delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { createEffects, type Effects } from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

describePostgres("a receiver on PostgreSQL", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let effects: Effects;
  let thrown: Error | undefined;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresStore({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterEach(() => {
    thrown = undefined;
  });
  afterAll(async () => {
    await server.close();
  });

  /** Writes an effect in the transaction of each delivery, then throws the error that a test sets. */
  const inTransactions = (of: pg.Pool = pool) =>
    createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      store: postgresTransactions({ pool: of }),
      handlers: {
        new_alarm: async (_alarm, { id, tx }) => {
          await effects.write(tx, id);
          if (thrown !== undefined) throw thrown;
        },
      },
    });

  async function outcomeOf(receiver: ReturnType<typeof inTransactions>, id: string) {
    return (await receiver.receive(await delivery({ id }))).outcome;
  }

  it("a receiver answers 503 while its pool is exhausted, and leaves no claim behind", async () => {
    const single = server.pool({ max: 1 });
    const store = postgresStore({ pool: single });
    const hasty = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
    const receiver = alarmReceiver(() => undefined, { store });
    const client = await single.connect();
    const refused = await hasty.receive(await delivery({ id: "exhausted" }));
    expect(refused).toMatchObject({ status: 503, outcome: "store_unavailable" });
    client.release();
    // The late claim is granted and then released.
    await expect.poll(() => outcomeOf(receiver, "exhausted")).toBe("handled");
    expect(await outcomeOf(receiver, "exhausted")).toBe("duplicate");
  });

  it("postgresStore accepts a single client instead of a pool", async () => {
    const address = { host: "127.0.0.1", port: server.port };
    const client = new pg.Client({ ...address, user: "postgres", database: "postgres" });
    client.on("error", () => undefined);
    await client.connect();
    const receiver = alarmReceiver(() => undefined, { store: postgresStore({ pool: client }) });
    const request = await delivery({ id: "single" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "duplicate" });
    expect(await effects.remembered("single")).toBe(1);
    await client.end();
  });

  it("a receiver on postgresTransactions handles a delivery once if many duplicates arrive together", async () => {
    const receivers = [inTransactions(), inTransactions(server.pool())];
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        outcomeOf(receivers[index % 2] ?? inTransactions(), "many"),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "handled")).toHaveLength(1);
    const others = outcomes.filter((outcome) => outcome !== "handled");
    expect(["in_flight", "duplicate"]).toEqual(expect.arrayContaining([...new Set(others)]));
    expect(await effects.of("many")).toBe(1);
  });

  it("a receiver on postgresTransactions rolls a failed handler back and handles the redelivery", async () => {
    const receiver = inTransactions();
    thrown = new Error("no");
    expect(await outcomeOf(receiver, "failed")).toBe("handler_failed");
    thrown = new RetryLater({ afterMs: 1_000 });
    expect(await outcomeOf(receiver, "failed")).toBe("retry_later");
    expect(await effects.of("failed")).toBe(0);
    expect(await effects.remembered("failed")).toBe(0);
    thrown = undefined;
    expect(await outcomeOf(receiver, "failed")).toBe("handled");
    expect(await effects.of("failed")).toBe(1);
  });

  it("a receiver on postgresTransactions remembers a discarded delivery without the handler's writes", async () => {
    const receiver = inTransactions();
    thrown = new DiscardDelivery({ reason: "account closed" });
    expect(await outcomeOf(receiver, "discarded")).toBe("discarded");
    thrown = undefined;
    expect(await outcomeOf(receiver, "discarded")).toBe("duplicate");
    expect(await effects.of("discarded")).toBe(0);
  });

  it("a receiver on postgresTransactions answers 503 while the server is down and handles afterwards", async () => {
    const other = await startPostgres();
    try {
      const otherPool = other.pool();
      await postgresTransactions({ pool: otherPool }).migrate();
      await createEffects(otherPool);
      const receiver = inTransactions(otherPool);
      await other.stop("crash");
      expect(await outcomeOf(receiver, "away")).toBe("store_unavailable");
      await other.start();
      expect(await outcomeOf(receiver, "away")).toBe("handled");
      expect(await outcomeOf(receiver, "away")).toBe("duplicate");
    } finally {
      await other.close();
    }
  });
});
