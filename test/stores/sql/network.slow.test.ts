import { afterEach, expect, it, vi } from "vitest";
import { startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { startCommitProxy } from "../../support/commit-proxy.js";
import { databaseOf, mustNotRun, processLater, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { startedForAll } from "../../support/started-for-all.js";
import { TIMES } from "../../support/stores/store-cases.js";

/** Each poll advances the fake clock by its interval. Statements are given up after 12 s. */
const BEFORE_10_S = { timeout: 8_000 };
/** The limit of a store without a receiver, plus the time in which the server may answer that it ended a statement. */
const LIMIT_MS = 12_000;
/** For this long a closed client keeps its place in the pool of pg. */
const NOTICED_MS = 1_500;

describeSql("a network that drops every packet of a pool's connections", (engine) => {
  const db = databaseOf(engine);
  const hole = startedForAll(() => startBlackHoleProxy(db.server.port));

  /** A pool whose `max` open connections drop every packet. Connections that it opens later work. */
  async function swallowedPool(max: number): Promise<Sql> {
    const pool = db.server.pool({ port: hole().port, max });
    const held = await Promise.all(Array.from({ length: max }, () => engine.connect(pool)));
    for (const connection of held) connection.release();
    hole().swallow();
    return pool;
  }

  /** Waits until `count` calls are sent and their limit has passed. */
  async function passLimit(count: number): Promise<void> {
    await vi.waitUntil(() => vi.getTimerCount() === count, BEFORE_10_S);
    await vi.advanceTimersByTimeAsync(LIMIT_MS);
    await vi.advanceTimersByTimeAsync(NOTICED_MS);
  }

  it(`${engine.store}: calls reject after 12 s if packets are dropped, and later ones work`, async () => {
    const store = engine.makeStore(await swallowedPool(2));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const claim = async () => store.claim("k", "a", TIMES);
    const lost = [claim(), (async () => store.complete("k", "a", TIMES))()];
    const rejections = lost.map((call) => expect(call).rejects.toMatchObject(engine.lostAnswer));
    await passLimit(2);
    await Promise.all(rejections);
    vi.useRealTimers();
    expect(await claim()).toEqual({ state: "claimed", takeover: false });
    await store.complete("k", "a", TIMES);
    expect(await claim()).toEqual({ state: "completed" });
  });

  it(`${engine.transactions} calls no handler if packets are dropped, and works later`, async () => {
    const store = engine.makeTransactions(await swallowedPool(1));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const rejection = expect(store.process("t", mustNotRun, TIMES)).rejects.toThrow(
      `${engine.firstStatement} took longer than`,
    );
    await passLimit(1);
    await rejection;
    vi.useRealTimers();
    expect(await store.process("t", () => Promise.resolve(), TIMES)).toEqual({
      state: "processed",
    });
  });

  // Only the MySQL store sends the server a KILL for the connection that it gives up.
  if (engine.name === "PostgreSQL") return;

  it("mysqlTransactions: a transaction whose packets are dropped is ended on the server", async () => {
    const store = engine.makeTransactions(db.server.pool({ port: hole().port, max: 1 }));
    const dropped = store.process(
      "dropped",
      async (tx) => {
        await db.effects.write(tx, "dropped");
        hole().swallow();
        throw new Error("the handler failed");
      },
      TIMES,
    );
    await expect(dropped).rejects.toThrow("the handler failed");
    // The server has been told to end the connection, and so has given the row free.
    expect(await processLater(engine, db, "dropped")).toBe("processed");
    expect(await db.effects.of("dropped")).toBe(1);
  });
});

describeSql("a transaction on a connection that breaks at COMMIT", (engine) => {
  const db = databaseOf(engine);
  const proxy = startedForAll(() => startCommitProxy(db.server.port, engine.commit));

  afterEach(() => {
    proxy().fault = undefined;
  });

  it.each([
    { fault: "lose the answer", state: "completed" },
    { fault: "lose the command", state: "processed" },
  ] as const)(
    `${engine.transactions} rejects at the fault $fault, and the key is $state then`,
    async ({ fault, state }) => {
      const proxied = db.server.pool({ port: proxy().port });
      const store = engine.makeTransactions(proxied);
      proxy().fault = fault;
      const lost = store.process(fault, (tx) => db.effects.write(tx, fault), TIMES);
      await expect(lost).rejects.toMatchObject(engine.lost);
      expect(engine.openIn(proxied) ?? 0).toBe(0);
      expect(await processLater(engine, db, fault)).toBe(state);
      expect(await db.effects.of(fault)).toBe(1);
      expect(await db.effects.remembered(fault)).toBe(1);
    },
  );

  it(`${engine.transactions} rejects after 12 s if COMMIT gets no answer`, async () => {
    const proxied = db.server.pool({ port: proxy().port, max: 1 });
    await proxied.query("SELECT 1");
    proxy().fault = "swallow";
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { hits } = proxy();
      const lost = engine
        .makeTransactions(proxied)
        .process("swallowed", (tx) => db.effects.write(tx, "swallowed"), TIMES);
      const rejection = expect(lost).rejects.toThrow("COMMIT took longer than 12000 ms");
      await vi.waitUntil(() => proxy().hits > hits, BEFORE_10_S);
      proxy().fault = undefined;
      await vi.advanceTimersByTimeAsync(LIMIT_MS);
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
