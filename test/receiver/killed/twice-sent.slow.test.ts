import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { sampleAlarm, signedDelivery } from "../../../kit/index.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { describeService } from "../../support/describe-service.js";
import { ENGINES, runsOf } from "./engines.js";
import { startReceiver } from "./killed-process.js";
import { keyOf } from "./run-facts.js";

const ROUNDS = 8;
const RECORDS = 16;
/** Deliveries of each record, each under an id of its own. */
const IDS = 2;

describe.each(["postgres", "mysql", "sqlite"] as const)("%s", (name) => {
  const { missing, start } = ENGINES[name];
  describeService("32 deliveries of 16 records at once, under kills", missing, () => {
    it("handles each record once, and acknowledges each delivery", async () => {
      const { at, ledger, close } = await start();
      onTestFinished(close);
      const receiver = startReceiver({ engine: name, at });
      onTestFinished(() => receiver.close());
      const statuses = new Set<number>();

      /** Sends a delivery until it is acknowledged, as the gateway does. */
      const deliver = async (id: number, onAnswer: () => void): Promise<void> => {
        const alarm = sampleAlarm({ id });
        const delivery = await signedDelivery({ alarm, secret: TEST_SECRET });
        for (let status = 0; status !== 200;) {
          const url = await receiver.url();
          const { headers, body } = delivery;
          const sent = fetch(url, { method: "POST", headers, body });
          status = await sent.then(
            (answer) => answer.status,
            () => 0,
          );
          statuses.add(status);
          onAnswer();
          if (status !== 200) await wait(20);
        }
      };

      for (let round = 0; round < ROUNDS; round++) {
        // Each round is killed at a later answer, the last one at none.
        let answers = 0;
        const onAnswer = (): void => {
          answers += 1;
          if (answers === 1 + 4 * round && round < ROUNDS - 1) receiver.kill();
        };
        const ids = Array.from(
          { length: RECORDS * IDS },
          (_, n) => RECORDS * round + (n % RECORDS),
        );
        await Promise.all(ids.map((id) => deliver(1 + id, onAnswer)));
      }
      expect(receiver.killed.size).toBe(ROUNDS - 1);
      // Acknowledged, no answer of a killed process, and 409 while another one is handled.
      for (const status of statuses) expect([0, 200, 409]).toContain(status);
      const runs = runsOf(await ledger());
      const keys = Array.from({ length: RECORDS * ROUNDS }, (_, n) => keyOf({ id: 1 + n }));
      expect(Object.fromEntries(runs)).toEqual(
        Object.fromEntries(keys.map((key) => [key, [expect.any(Number)]])),
      );
    });
  });
});
