import { randomUUID } from "node:crypto";
import { it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { describeOnPgBoss } from "../support/inbox/inbox-engines.js";

const HOLD_MS = 2_000;
const TIMES = { expireInMs: HOLD_MS, retryDelayMs: 1_000, pollIntervalMs: 100 };

describeOnPgBoss("pg-boss", (engine) => {
  const cases = queueDriverContract(
    () => {
      const { boss } = engine();
      const queueName = randomUUID();
      let isKilled = false;
      /** A killed process calls nothing more. */
      const alive = <T>(call: () => PromiseLike<T>): PromiseLike<T> =>
        isKilled ? Promise.reject(new Error("killed")) : call();
      const killable: Parameters<typeof pgBossQueue>[0]["boss"] = {
        createQueue: (...given) => alive(() => boss.createQueue(...(given as [string]))),
        fetch: (...given) => alive(() => boss.fetch(...given)),
        getDb: () => ({
          executeSql: (...given) => alive(() => boss.getDb().executeSql(...given)),
        }),
      };
      return {
        driver: pgBossQueue({ boss: killable, queueName, ...TIMES }),
        otherClient: pgBossQueue({ boss, queueName, ...TIMES }),
        kill: () => {
          isKilled = true;
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
