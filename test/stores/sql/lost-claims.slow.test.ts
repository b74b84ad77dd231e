import { expect, it, onTestFinished } from "vitest";
import { observedAlarmReceiver } from "../../support/alarm-receiver.js";
import { startCommitProxy } from "../../support/commit-proxy.js";
import { delivery } from "../../support/deliveries.js";
import { databaseOf } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

/** Much less than the lease of 30 seconds. */
const SOON = { timeout: 8_000, interval: 100 };

describeSql("a claim on a connection that breaks", (engine) => {
  const db = databaseOf(engine);

  it.each(["lose the answer", "lose the command"] as const)(
    `${engine.store} handles the next attempt soon and without takeover if the fault at the claim is: %s`,
    async (fault) => {
      const proxy = await startCommitProxy(db.server.port, "INSERT");
      onTestFinished(proxy.close);
      const store = engine.makeStore(db.server.pool({ port: proxy.port }));
      const { receiver, reports } = observedAlarmReceiver(() => undefined, { store });
      const repeated = await delivery({ id: fault.replaceAll(" ", "-") });
      proxy.fault = fault;
      expect(await receiver.receive(repeated)).toMatchObject({ outcome: "store_unavailable" });
      expect(proxy.hits).toBeGreaterThan(0);
      proxy.fault = undefined;
      const attempt = async () => (await receiver.receive(repeated)).outcome;
      await expect.poll(attempt, SOON).toBe("handled");
      expect(reports.at(-1)).not.toHaveProperty("takeover");
      expect(await attempt()).toBe("duplicate");
    },
  );
});
