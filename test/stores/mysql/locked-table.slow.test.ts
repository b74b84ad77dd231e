import { setTimeout as wait } from "node:timers/promises";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { expect, it, vi } from "vitest";
import type { WebhookReceiver } from "../../../src/index.js";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects } from "../../support/mysql/mysql-effects.js";
import { startMysql } from "../../support/mysql/mysql-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

/** Connections of the receiver's pool. */
const MAX = 5;
/** Extra connections that a pool may have briefly while it closes others. */
const FEW = 3;
/** Long enough for every limit to pass more than once. */
const LOCKED_MS = 8_000;
const OPTIONS = { dependencyTimeoutMs: 1_000 };
const IDS = Array.from({ length: 30 }, (_, index) => `alarm-${index}`);

/** Makes a receiver whose handler writes an effect. */
type MakeReceiver = (pool: Pool, write: (id: string) => Promise<void>) => WebhookReceiver;

const RECEIVERS: Record<string, MakeReceiver> = {
  leases: (pool, write) =>
    alarmReceiver(({ id }) => write(id), { ...OPTIONS, store: mysqlStore({ pool }) }),
  transactions: (pool) =>
    transactionalReceiver(
      mysqlTransactions({ pool }),
      async ({ id, tx }) => {
        await tx.query("INSERT INTO effects (name) VALUES (?)", [id]);
      },
      OPTIONS,
    ),
};

/** Locks the table of a receiver under load and returns what was observed. */
async function lockTable(makeReceiver: MakeReceiver, lock: readonly string[]) {
  const server = await startMysql();
  try {
    const admin = server.pool();
    await mysqlStore({ pool: admin }).migrate();
    const effects = await createEffects(admin);
    const stranger = await admin.getConnection();
    for (const statement of lock) await stranger.query(statement);
    const watcher = await admin.getConnection();
    await watcher.query("CREATE USER receiver");
    await watcher.query("GRANT ALL ON *.* TO receiver");
    const pool = server.pool({ user: "receiver", connectionLimit: MAX });
    const receiver = makeReceiver(pool, (id) => effects.write(admin, id));

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
      const [rows] = await watcher.query<RowDataPacket[]>(
        "SELECT 1 FROM information_schema.processlist WHERE user = 'receiver'",
      );
      connections = Math.max(connections, rows.length);
      await wait(50);
    }
    isLocked = false;
    await stranger.query("ROLLBACK");
    await stranger.query("UNLOCK TABLES");
    const unlockedAt = performance.now();
    await Promise.all(deliveries);
    const recoveredMs = performance.now() - unlockedAt;

    const once = await Promise.all(IDS.map((id) => effects.of(id)));
    // A completion that timed out is tried again in the background.
    const heldClaims = async () => {
      const held = "SELECT 1 FROM gateway_deliveries WHERE owner IS NOT NULL";
      return (await admin.query<RowDataPacket[]>(held))[0].length;
    };
    await vi.waitUntil(async () => (await heldClaims()) === 0, { timeout: 20_000, interval: 50 });
    return { connections, whileLocked, recoveredMs, once };
  } finally {
    await server.close();
  }
}

describeMysql("a receiver whose MySQL table another client locks", () => {
  const locks = {
    "LOCK TABLES": ["LOCK TABLES gateway_deliveries WRITE"],
    "locks on all its rows and gaps": [
      "START TRANSACTION",
      "SELECT * FROM gateway_deliveries FOR UPDATE",
    ],
  };
  const cases = Object.entries(RECEIVERS).flatMap(([name, makeReceiver]) =>
    Object.entries(locks).map(([how, lock]) => ({ title: `${name}, ${how}`, makeReceiver, lock })),
  );

  it.concurrent.each(cases)(
    "$title: while the table is locked, the server never has more connections than the pool, and every delivery is handled afterwards",
    async ({ makeReceiver, lock }) => {
      const seen = await lockTable(makeReceiver, lock);
      expect(seen.connections).toBeLessThanOrEqual(MAX + FEW);
      // Transactions also answer `overloaded`: by default as many run as the pool has connections to spare.
      const refusals = [...seen.whileLocked].filter((outcome) => outcome !== "overloaded");
      expect(refusals).toEqual(["store_unavailable"]);
      expect(seen.once).toEqual(IDS.map(() => 1));
      // A claim without a holder would block its delivery for its lease, 30 seconds.
      expect(seen.recoveredMs).toBeLessThan(20_000);
    },
  );
});
