import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { WebhookReceiver } from "../../../src/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { describePgBouncer, startPgBouncer } from "../../support/postgres/pgbouncer.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import {
  createEffects,
  type Effects,
  type Sql,
  type SqlEngine,
} from "../../support/stores/sql-engine.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

/** Connections of the receiver's pool. */
const MAX = 5;
/** Extra connections that a pool may have briefly while it closes others. */
const FEW = 3;
/** Long enough for every limit to pass more than once. */
const LOCKED_MS = 12_000;
const OPTIONS = { dependencyTimeoutMs: 1_000, leaseMs: 120_000 };
const IDS = Array.from({ length: 30 }, (_, index) => `alarm-${index}`);

const LOCK_TABLE = ["BEGIN", "LOCK TABLE gateway_deliveries IN ACCESS EXCLUSIVE MODE"];

/** Makes a receiver whose handler writes an effect. */
type MakeReceiver = (
  engine: SqlEngine,
  pool: Sql,
  write: (tx: Sql | undefined, id: string) => Promise<void>,
) => WebhookReceiver;

const RECEIVERS: Record<string, MakeReceiver> = {
  leases: (engine, pool, write) =>
    alarmReceiver(({ id }) => write(undefined, id), { ...OPTIONS, store: engine.makeStore(pool) }),
  transactions: (engine, pool, write) =>
    transactionalReceiver(engine.makeTransactions(pool), ({ id, tx }) => write(tx, id), OPTIONS),
};

/** How a case locks the table, and what is between the receiver and the server. */
interface Locking {
  readonly lock: readonly string[];
  /** Server connections of a pooler, if there is one. */
  readonly poolerConnections?: number;
}

/** Locks the table of a receiver under load and returns what was observed. */
async function lockTable(
  engine: SqlEngine,
  makeReceiver: MakeReceiver,
  { lock, poolerConnections }: Locking,
) {
  const server = await engine.start();
  const bouncer =
    poolerConnections === undefined
      ? undefined
      : await startPgBouncer(server.port, poolerConnections, "receiver");
  try {
    const admin = server.pool();
    await engine.makeStore(admin).migrate();
    const effects: Effects = await createEffects(engine, admin);
    const stranger = await engine.connect(admin);
    const watcher = await engine.connect(admin);
    await engine.createUser(watcher, "receiver");
    for (const statement of lock) await stranger.query(statement);
    const pool = (bouncer ?? server).pool({ user: "receiver", max: MAX });
    const receiver = makeReceiver(engine, pool, (tx, id) => effects.write(tx ?? admin, id));

    let isLocked = true;
    const whileLocked = new Set<string>();
    const deliverUntilAcknowledged = async (id: string): Promise<void> => {
      const request = await delivery({ id });
      for (;;) {
        const wasLocked = isLocked;
        const { status, outcome } = await receiver.receive(request);
        if (wasLocked && isLocked) whileLocked.add(outcome);
        if (status === 200) return;
        await wait(50);
      }
    };
    const deliveries = IDS.map(deliverUntilAcknowledged);

    let connections = 0;
    const unlockAt = performance.now() + LOCKED_MS;
    while (performance.now() < unlockAt) {
      connections = Math.max(connections, await engine.connectionsOf(watcher, "receiver"));
      await wait(50);
    }
    isLocked = false;
    await stranger.query("ROLLBACK");
    if (engine.name === "MySQL") await stranger.query("UNLOCK TABLES");
    for (const held of [stranger, watcher]) held.release();
    const unlockedAt = performance.now();
    await Promise.all(deliveries);
    const recoveredMs = performance.now() - unlockedAt;

    const once = await Promise.all(IDS.map((id) => effects.of(id)));
    // A completion that timed out is tried again in the background.
    const heldClaims = async () =>
      (await engine.rows(admin, "SELECT 1 FROM gateway_deliveries WHERE owner IS NOT NULL")).length;
    await vi.waitUntil(async () => (await heldClaims()) === 0, { timeout: 60_000, interval: 50 });
    return { connections, whileLocked, recoveredMs, once };
  } finally {
    await bouncer?.close();
    await server.close();
  }
}

describe.each([
  {
    engine: mysqlEngine,
    describeEngine: mysqlEngine.describe,
    lockings: {
      "LOCK TABLES": { lock: ["LOCK TABLES gateway_deliveries WRITE"] },
      "locks on all its rows and gaps": {
        lock: ["BEGIN", "SELECT * FROM gateway_deliveries FOR UPDATE"],
      },
    },
  },
  {
    engine: postgresEngine,
    describeEngine: describePgBouncer,
    lockings: {
      "LOCK TABLE, on PostgreSQL itself": { lock: LOCK_TABLE },
      // Fewer than the clients, so that statements also wait in the pooler.
      "LOCK TABLE, through PgBouncer": { lock: LOCK_TABLE, poolerConnections: 2 },
    },
  },
])("a receiver whose table another client locks", ({ engine, describeEngine, lockings }) => {
  const cases = Object.entries(RECEIVERS).flatMap(([name, makeReceiver]) =>
    Object.entries(lockings).map(([how, locking]: [string, Locking]) => ({
      title: `${engine.name}, ${name}, ${how}`,
      makeReceiver,
      locking,
    })),
  );

  describeEngine(engine.name, () => {
    it.concurrent.each(cases)(
      "$title: while the table is locked, the server never has more connections than the pool, and every delivery is handled afterwards",
      async ({ makeReceiver, locking }) => {
        const seen = await lockTable(engine, makeReceiver, locking);
        expect(seen.connections).toBeLessThanOrEqual((locking.poolerConnections ?? MAX) + FEW);
        // Transactions also answer `overloaded`: by default as many run as the pool has connections to spare.
        const refusals = [...seen.whileLocked].filter((outcome) => outcome !== "overloaded");
        expect(refusals).toEqual(["store_unavailable"]);
        expect(seen.once).toEqual(IDS.map(() => 1));
        // A claim without a holder would block its delivery for its lease.
        expect(seen.recoveredMs).toBeLessThan(OPTIONS.leaseMs / 2);
      },
    );
  });
});
