import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { expect, it, vi } from "vitest";
import type { WebhookReceiver } from "../../../src/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { describePgBouncer, startPgBouncer } from "../../support/postgres/pgbouncer.js";
import { createEffects } from "../../support/postgres/postgres-effects.js";
import { startPostgres } from "../../support/postgres/postgres-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

/** Clients of the receiver's pool. */
const MAX = 5;
/** Extra connections that a pool may have briefly while it closes others. */
const FEW = 3;
/** Long enough for every limit to pass more than once. */
const LOCKED_MS = 12_000;
const OPTIONS = { dependencyTimeoutMs: 1_000 };
const IDS = Array.from({ length: 30 }, (_, index) => `alarm-${index}`);

/** Makes a receiver whose handler writes an effect. */
type MakeReceiver = (pool: pg.Pool, write: (id: string) => Promise<void>) => WebhookReceiver;

const RECEIVERS: Record<string, MakeReceiver> = {
  leases: (pool, write) =>
    alarmReceiver(({ id }) => write(id), { ...OPTIONS, store: postgresStore({ pool }) }),
  transactions: (pool) =>
    transactionalReceiver(
      postgresTransactions({ pool }),
      async ({ id, tx }) => {
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [id]);
      },
      OPTIONS,
    ),
};

/** Locks the table of a receiver under load and returns what was observed. */
async function lockTable(makeReceiver: MakeReceiver, serverConnections?: number) {
  const server = await startPostgres();
  const bouncer =
    serverConnections === undefined
      ? undefined
      : await startPgBouncer(server.port, serverConnections);
  try {
    const admin = server.pool({ application_name: "admin" });
    await postgresStore({ pool: admin }).migrate();
    const effects = await createEffects(admin);
    const pool = (bouncer ?? server).pool({ max: MAX });
    const receiver = makeReceiver(pool, (id) => effects.write(admin, id));
    const stranger = await admin.connect();
    await stranger.query("BEGIN; LOCK TABLE gateway_deliveries IN ACCESS EXCLUSIVE MODE");

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
      const { rows } = await admin.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE backend_type = 'client backend' AND application_name <> 'admin'`,
      );
      connections = Math.max(connections, rows[0]?.count ?? 0);
      await wait(50);
    }
    isLocked = false;
    await stranger.query("ROLLBACK");
    stranger.release();
    const unlockedAt = performance.now();
    await Promise.all(deliveries);
    const recoveredMs = performance.now() - unlockedAt;

    const once = await Promise.all(IDS.map((id) => effects.of(id)));
    // A completion that timed out is tried again in the background.
    const heldClaims = async () =>
      (await admin.query("SELECT key FROM gateway_deliveries WHERE owner IS NOT NULL")).rowCount;
    await vi.waitUntil(async () => (await heldClaims()) === 0, { timeout: 20_000, interval: 50 });
    return { connections, whileLocked, recoveredMs, once };
  } finally {
    await bouncer?.close();
    await server.close();
  }
}

describePgBouncer("a receiver whose table another client locks", () => {
  const cases = Object.entries(RECEIVERS).flatMap(([name, makeReceiver]) => [
    { title: `${name} on PostgreSQL itself`, makeReceiver, serverConnections: undefined },
    // Fewer than the clients, so that statements also wait in the pooler.
    { title: `${name} through PgBouncer`, makeReceiver, serverConnections: 2 },
  ]);

  it.concurrent.each(cases)(
    "$title: while the table is locked, the server never has more connections than the pool, and every delivery is handled afterwards",
    async ({ makeReceiver, serverConnections }) => {
      const seen = await lockTable(makeReceiver, serverConnections);
      expect(seen.connections).toBeLessThanOrEqual((serverConnections ?? MAX) + FEW);
      // Transactions also answer `overloaded`: by default as many run as the pool has clients to spare.
      const refusals = [...seen.whileLocked].filter((outcome) => outcome !== "overloaded");
      expect(refusals).toEqual(["store_unavailable"]);
      expect(seen.once).toEqual(IDS.map(() => 1));
      // A claim without a holder would block its delivery for its lease, 30 seconds.
      expect(seen.recoveredMs).toBeLessThan(20_000);
    },
  );
});
