import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { startCommitProxy, type CommitProxy } from "../../support/commit-proxy.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { createEffects, type Effects } from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const RETENTION = { retentionMs: 3_600_000 };
/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };

describePostgres("postgresTransactions on a connection that breaks at COMMIT", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let effects: Effects;
  let proxy: CommitProxy;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresTransactions({ pool }).migrate();
    effects = await createEffects(pool);
    proxy = await startCommitProxy(server.port, "COMMIT\0");
  });
  afterEach(() => {
    proxy.fault = undefined;
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });

  /** Processes `key` again while the server has not noticed the end of an earlier transaction. */
  async function processLater(key: string): Promise<string> {
    const store = postgresTransactions({ pool });
    for (;;) {
      const { state } = await store.process(key, (tx) => effects.write(tx, key), RETENTION);
      if (state !== "in_flight") return state;
      await pool.query("SELECT pg_sleep(0.02)");
    }
  }

  it.each([
    { fault: "lose the answer", state: "completed" },
    { fault: "lose the command", state: "processed" },
  ] as const)(
    "process rejects if the fault at COMMIT is: $fault. The next process finds the key $state",
    async ({ fault, state }) => {
      const proxied = server.pool({ port: proxy.port });
      const store = postgresTransactions({ pool: proxied });
      proxy.fault = fault;
      const lost = store.process(fault, (tx) => effects.write(tx, fault), RETENTION);
      await expect(lost).rejects.toThrow("Connection terminated unexpectedly");
      expect(proxied.totalCount).toBe(0);
      expect(await processLater(fault)).toBe(state);
      expect(await effects.of(fault)).toBe(1);
      expect(await effects.remembered(fault)).toBe(1);
    },
  );

  it("process rejects after 12 s and closes its connection if COMMIT gets no answer", async () => {
    const proxied = server.pool({ port: proxy.port });
    await proxied.query("SELECT 1");
    proxy.fault = "swallow";
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { hits } = proxy;
      const lost = postgresTransactions({ pool: proxied }).process(
        "swallowed",
        (tx) => effects.write(tx, "swallowed"),
        RETENTION,
      );
      const rejection = expect(lost).rejects.toThrow("COMMIT took longer than 12000 ms");
      await vi.waitUntil(() => proxy.hits > hits, BEFORE_10_S);
      await vi.advanceTimersByTimeAsync(12_000);
      await vi.advanceTimersByTimeAsync(1_500);
      await rejection;
      expect(proxied.totalCount).toBe(0);
    } finally {
      vi.useRealTimers();
    }
    expect(await processLater("swallowed")).toBe("processed");
  });
});
