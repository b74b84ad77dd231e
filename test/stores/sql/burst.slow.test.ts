import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { createCollector } from "../../support/collector.js";
import { deferred, watched } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { databaseOf } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

/** Connections of the pool. One of them stays free for the rest of the application. */
const MAX = 20;

describeSql("a burst of five times the pool", (engine) => {
  const db = databaseOf(engine);

  it.each([
    ["by default", "burst_default", {}],
    ["with maxConcurrentDeliveries: 500", "burst_explicit", { maxConcurrentDeliveries: 500 }],
  ])(
    `${engine.transactions} handles 100 deliveries at once on a pool of 20, and leaves one connection free, %s`,
    async (_how, user, options) => {
      const watcher = await engine.connect(db.pool);
      await engine.createUser(watcher, user);
      const pool = db.server.pool({ user, max: MAX });
      const isFull = deferred();
      const release = deferred();
      let running = 0;
      let mostRunning = 0;
      const { options: observers, reports } = createCollector();
      const receiver = transactionalReceiver(
        engine.makeTransactions(pool),
        async ({ id, tx }) => {
          running += 1;
          mostRunning = Math.max(mostRunning, running);
          if (running === MAX - 1) isFull.resolve();
          await release.promise;
          await engine.sleep(tx, 0.02);
          await db.effects.write(tx, id);
          running -= 1;
        },
        // They wait for a connection for half of it: a slow machine must not be overloaded.
        { ...observers, dependencyTimeoutMs: 60_000, ...options },
      );
      const ids = Array.from({ length: 100 }, (_, at) => `${user}-${String(at)}`);
      const requests = await Promise.all(ids.map((id) => delivery({ id })));
      const answers = Promise.all(requests.map((request) => receiver.receive(request)));

      await Promise.race([isFull.promise, answers]);
      // Every handler holds its connection, and the application still gets one.
      expect(await engine.rows(pool, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
      release.resolve();
      let connections = 0;
      const { state } = watched(answers);
      while (!state.isResolved) {
        connections = Math.max(connections, await engine.connectionsOf(watcher, user));
        await wait(5);
      }
      watcher.release();

      expect((await answers).map(({ outcome }) => outcome)).toEqual(ids.map(() => "handled"));
      expect(reports).toHaveLength(100);
      expect(mostRunning).toBe(MAX - 1);
      expect(connections).toBeLessThanOrEqual(MAX);
      expect(await Promise.all(ids.map((id) => db.effects.of(id)))).toEqual(ids.map(() => 1));
    },
  );
});
