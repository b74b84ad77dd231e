import type { Pool } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { startCommitProxy, type CommitProxy } from "../../support/commit-proxy.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const RETENTION = { retentionMs: 3_600_000 };
/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };

describeMysql("mysqlTransactions on a connection that breaks at COMMIT", () => {
  let server: MysqlServer;
  let pool: Pool;
  let effects: Effects;
  let proxy: CommitProxy;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    await mysqlTransactions({ pool }).migrate();
    effects = await createEffects(pool);
    proxy = await startCommitProxy(server.port, "COMMIT AND NO CHAIN");
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
    const store = mysqlTransactions({ pool });
    for (;;) {
      const { state } = await store.process(key, (tx) => effects.write(tx, key), RETENTION);
      if (state !== "in_flight") return state;
      await pool.query("DO SLEEP(0.02)");
    }
  }

  it.each([
    { fault: "lose the answer", state: "completed" },
    { fault: "lose the command", state: "processed" },
  ] as const)(
    "process rejects if the fault at COMMIT is: $fault. The next process finds the key $state",
    async ({ fault, state }) => {
      const store = mysqlTransactions({ pool: server.pool({ port: proxy.port }) });
      proxy.fault = fault;
      const lost = store.process(fault, (tx) => effects.write(tx, fault), RETENTION);
      await expect(lost).rejects.toHaveProperty("code", "PROTOCOL_CONNECTION_LOST");
      expect(await processLater(fault)).toBe(state);
      expect(await effects.of(fault)).toBe(1);
      expect(await effects.remembered(fault)).toBe(1);
    },
  );

  it("process rejects after 12 s and the server ends its connection if COMMIT gets no answer", async () => {
    const proxied = server.pool({ port: proxy.port, connectionLimit: 1 });
    await proxied.query("SELECT 1");
    proxy.fault = "swallow";
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { hits } = proxy;
      const lost = mysqlTransactions({ pool: proxied }).process(
        "swallowed",
        (tx) => effects.write(tx, "swallowed"),
        RETENTION,
      );
      const rejection = expect(lost).rejects.toThrow("COMMIT took longer than 12000 ms");
      await vi.waitUntil(() => proxy.hits > hits, BEFORE_10_S);
      proxy.fault = undefined;
      await vi.advanceTimersByTimeAsync(12_000);
      await rejection;
    } finally {
      vi.useRealTimers();
    }
    expect(await processLater("swallowed")).toBe("processed");
    expect(await effects.of("swallowed")).toBe(1);
  });
});
