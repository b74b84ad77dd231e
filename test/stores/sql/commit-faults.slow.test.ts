import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { startCommitProxy, type CommitProxy } from "../../support/commit-proxy.js";
import { databaseOf, processLater } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const RETENTION = { retentionMs: 3_600_000 };
/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };
/** For this long a closed client keeps its place in the pool of pg. */
const NOTICED_MS = 1_500;

describeSql("a transaction on a connection that breaks at COMMIT", (engine) => {
  const db = databaseOf(engine);
  let proxy: CommitProxy;

  beforeAll(async () => {
    proxy = await startCommitProxy(db.server.port, engine.commit);
  });
  afterEach(() => {
    proxy.fault = undefined;
  });
  afterAll(() => proxy.close());

  it.each([
    { fault: "lose the answer", state: "completed" },
    { fault: "lose the command", state: "processed" },
  ] as const)(
    `${engine.transactions} rejects if the fault at COMMIT is: $fault. The next process finds the key $state`,
    async ({ fault, state }) => {
      const proxied = db.server.pool({ port: proxy.port });
      const store = engine.makeTransactions(proxied);
      proxy.fault = fault;
      const lost = store.process(fault, (tx) => db.effects.write(tx, fault), RETENTION);
      await expect(lost).rejects.toMatchObject(engine.lost);
      expect(engine.openIn(proxied) ?? 0).toBe(0);
      expect(await processLater(engine, db, fault)).toBe(state);
      expect(await db.effects.of(fault)).toBe(1);
      expect(await db.effects.remembered(fault)).toBe(1);
    },
  );

  it(`${engine.transactions} rejects after 12 s and its connection is closed if COMMIT gets no answer`, async () => {
    const proxied = db.server.pool({ port: proxy.port, max: 1 });
    await proxied.query("SELECT 1");
    proxy.fault = "swallow";
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { hits } = proxy;
      const lost = engine
        .makeTransactions(proxied)
        .process("swallowed", (tx) => db.effects.write(tx, "swallowed"), RETENTION);
      const rejection = expect(lost).rejects.toThrow("COMMIT took longer than 12000 ms");
      await vi.waitUntil(() => proxy.hits > hits, BEFORE_10_S);
      proxy.fault = undefined;
      await vi.advanceTimersByTimeAsync(12_000);
      await vi.advanceTimersByTimeAsync(NOTICED_MS);
      await rejection;
      expect(engine.openIn(proxied) ?? 0).toBe(0);
    } finally {
      vi.useRealTimers();
    }
    expect(await processLater(engine, db, "swallowed")).toBe("processed");
    expect(await db.effects.of("swallowed")).toBe(1);
  });
});
