import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { sampleAlarm } from "../../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { sqliteProcesses } from "../../support/sqlite/processes.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";

const { folder, start } = sqliteProcesses();

describe.each(SQLITE_RUNTIMES)("a receiver with a file by $driver", (runtime) => {
  const startReceiver = () => start(runtime, "receiver-child.ts");

  const sign = async (id: string, accountId: number) =>
    JSON.stringify(
      await signedDelivery({
        id,
        alarm: sampleAlarm({ account_id: accountId }),
        secret: TEST_SECRET,
      }),
    );

  it("a receiver recognizes a duplicate after it was killed and started again", async () => {
    const first = startReceiver();
    first.send(await sign("done", 1));
    expect([await first.line(), await first.line()]).toEqual(["runs done", "200 handled"]);
    await first.kill();
    const second = startReceiver();
    second.send(await sign("done", 1));
    expect(await second.line()).toBe("200 duplicate");
  });

  it("a receiver handles the delivery that it was killed over after the lease has ended", async () => {
    const first = startReceiver();
    first.send(await sign("hanging", 0));
    expect(await first.line()).toBe("runs hanging");
    await first.kill();
    const second = startReceiver();
    // Sends again until the delivery is handled, as the gateway does.
    const again = await sign("hanging", 1);
    let answer = "409 in_flight";
    while (answer === "409 in_flight") {
      second.send(again);
      answer = await second.line();
      await wait(50);
    }
    expect([answer, await second.line()]).toEqual(["runs hanging, a takeover", "200 handled"]);
  });
});

describe("a receiver whose file is locked", () => {
  const lock = () => {
    const other = folder().open();
    other.exec("BEGIN IMMEDIATE");
    return () => other.exec("COMMIT");
  };

  it("a receiver with a locked file answers 503 without running the handler, and handles the next attempt", async () => {
    const runs: string[] = [];
    const store = sqliteStore({ database: folder().open(), waitTimeoutMs: 50 });
    const receiver = alarmReceiver(({ id }) => runs.push(id), { store });
    const unlock = lock();
    const request = await delivery({ id: "a" });
    expect(await receiver.receive(request)).toMatchObject({
      status: 503,
      outcome: "store_unavailable",
    });
    expect(runs).toEqual([]);
    unlock();
    expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
    expect(runs).toEqual(["a"]);
  });

  it("a receiver whose file is locked after the handler answers 200 and completes later", async () => {
    let unlock: (() => void) | undefined;
    const store = sqliteStore({ database: folder().open(), waitTimeoutMs: 50 });
    const receiver = alarmReceiver(
      () => {
        unlock = lock();
      },
      { store },
    );
    const request = await delivery({ id: "a" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
    expect(await receiver.receive(request)).toMatchObject({ outcome: "duplicate" });
    unlock?.();
    await receiver.drain();
    const elsewhere = sqliteStore({ database: folder().open() });
    const duplicate = await elsewhere.claim("a", "b", { leaseMs: 1_000, retentionMs: 1_000 });
    expect(duplicate).toEqual({ state: "completed" });
  });
});
