import { randomUUID } from "node:crypto";
import { it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import type { PgBossClient } from "../../src/inbox/pg-boss/client.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";
import { HOLD_MS, impatient } from "../support/inbox/inbox-pg-boss-engine.js";

/** The same client until it is killed: a killed process calls nothing more. */
function killable(boss: PgBossClient): { boss: PgBossClient; kill: () => void } {
  let isKilled = false;
  const alive = new Proxy(boss, {
    get: (target, key) => {
      const method = Reflect.get(target, key) as (...given: unknown[]) => unknown;
      return (...given: unknown[]) =>
        isKilled ? Promise.reject(new Error("killed")) : method.apply(target, given);
    },
  });
  return { boss: alive, kill: () => void (isKilled = true) };
}

describeOnPgBoss("pg-boss", (engine) => {
  const cases = queueDriverContract(
    () => {
      const boss = impatient(engine().boss);
      const options = { queueName: randomUUID(), pollIntervalMs: 100 };
      const newClient = () => {
        const { boss: alive, kill } = killable(boss);
        return { driver: pgBossQueue({ boss: alive, ...options }), kill };
      };
      return {
        ...newClient(),
        newClient,
        otherClient: pgBossQueue({ boss, ...options }),
        async putStrange() {
          const strange = [{ id: "a", type: "b" }, { version: 2 }, {}];
          for (const data of strange) await engine().boss.send(options.queueName, data);
          return strange.length;
        },
      };
    },
    { holdMs: HOLD_MS },
  );

  it.each(cases.map((one) => [one.title, one] as const))(
    "pg-boss keeps the contract: %s",
    async (_, { run }) => {
      await run();
    },
  );
});
