import { randomUUID } from "node:crypto";
import { PgBoss } from "pg-boss";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RetryLater } from "../../src/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../support/black-hole-proxy.js";
import { canariesIn, shownOf } from "../support/canaries.js";
import { deferred } from "../support/deferred.js";
import {
  describeOnPgBoss,
  HOLD_MS,
  overriding,
  postgresUrl,
  startPgBoss,
} from "../support/inbox/inbox-engines.js";
import { killable } from "../support/inbox/killable.js";
import { keepsContract } from "../support/inbox/queue-matrix.js";
import {
  alarmDelivery,
  deliverCanaries,
  inboxReceiver,
  settlesAt,
  watchedLog,
  watchWorker,
  queueAlarm,
  failingWorker,
} from "../support/inbox/receiver-and-worker.js";

const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

describeOnPgBoss("pg-boss", (engine) => {
  keepsContract(
    "pg-boss",
    () => {
      const queueName = randomUUID();
      const newClient = () => {
        let kill = (): void => undefined;
        const driver = engine().open(queueName, {}, (client) => {
          const made = killable(client);
          ({ kill } = made);
          return made.client;
        });
        return { driver, kill };
      };
      return {
        ...newClient(),
        newClient,
        otherClient: engine().open(queueName),
        dump: engine().dump,
        async putStrange() {
          const strange = [{ id: "a", type: "b" }, { version: 2 }, {}];
          for (const data of strange) await engine().boss.send(queueName, data);
          return strange.length;
        },
      };
    },
    ["lists dead jobs", "shows what it has stored"],
    { holdMs: HOLD_MS },
  );

  it("each pg-boss job has the driver's settings, also in an older queue", async () => {
    await engine().boss.createQueue("settings", { retryLimit: 1, heartbeatSeconds: 10 });
    const driver = pgBossQueue({ boss: engine().boss, queueName: "settings" });
    await queueAlarm(driver, 1, UUID);
    const [job] = await engine().boss.findJobs("settings", { key: UUID });
    expect(job).toMatchObject({
      retryLimit: 2_000_000,
      retryDelay: 10,
      retryBackoff: false,
      heartbeatSeconds: 60,
      expireInSeconds: 86_400,
    });
    const keptMs = Number(job?.keepUntil) - Date.now();
    expect(Math.round(keptMs / 86_400_000)).toBe(365);
  });

  it("a delivery whose job an operator has cancelled is put again", async () => {
    const driver = engine().open("cancelled");
    const delivery = await alarmDelivery(1, UUID);
    await inboxReceiver(driver).receive(delivery);
    const [job] = await engine().boss.findJobs("cancelled");
    await engine().boss.cancel("cancelled", job?.id ?? "");
    await inboxReceiver(driver).receive(delivery);
    const handled: string[] = [];
    const { stop } = watchWorker(driver, (_, { id }) => handled.push(id));
    await settlesAt(() => handled, [UUID]);
    await stop();
  });

  it("a delivery that died twice is replayed once, by one call", async () => {
    const driver = engine().open("twice");
    const delivery = await alarmDelivery(1, UUID);
    for (let n = 0; n < 2; n += 1) await inboxReceiver(driver).receive(delivery);
    const failing = failingWorker(driver);
    await settlesAt(() => engine().jobs("twice-dead"), 2);
    await failing.stop();
    expect(await driver.replay([UUID])).toEqual({ replayed: [UUID], notFound: [] });
    expect(await driver.list()).toEqual([]);
    let runs = 0;
    const { stop } = watchWorker(driver, () => (runs += 1));
    await settlesAt(() => engine().jobs("twice"), 0);
    await stop();
    expect(runs).toBe(1);
  });

  it("a strange job among the dead ones hides no other", async () => {
    const driver = engine().open("strange-letter");
    await queueAlarm(driver);
    await driver.list();
    const strange = await engine().boss.send("strange-letter-dead", {});
    await engine().boss.fail("strange-letter-dead", strange ?? "", { attempts: "1; DROP TABLE" });
    const { reports, stop } = failingWorker(driver);
    await settlesAt(() => reports.map(({ outcome }) => outcome), ["dead"]);
    await stop();
    const listed = await driver.list();
    expect(listed.map(({ attempts }) => attempts)).toEqual([0, 1]);
    expect(listed[0]?.id).toBe(strange);
    const { replayed } = await driver.replay("all");
    expect(replayed).toEqual(listed.map(({ id }) => id));
  });

  it("a PgBoss of another schema works as it is", async () => {
    const other = new PgBoss({ connectionString: engine().url, schema: "other", schedule: false });
    other.on("error", () => undefined);
    await other.start();
    const receiver = inboxReceiver(pgBossQueue({ boss: other, queueName: "own-schema" }));
    expect((await receiver.receive(await alarmDelivery(1))).status).toBe(200);
    expect(await engine().sql("SELECT id FROM other.job")).toHaveLength(1);
    await other.stop({ graceful: false });
  });

  it("a receiver answers 500 if its queue is gone, and creates it", async () => {
    const receiver = inboxReceiver(engine().open("gone"));
    await receiver.receive(await alarmDelivery(1));
    await engine().sql("DELETE FROM pgboss.job WHERE name = 'gone'");
    await engine().boss.deleteQueue("gone");
    const delivery = await alarmDelivery(2);
    expect((await receiver.receive(delivery)).status).toBe(500);
    expect((await receiver.receive(delivery)).status).toBe(200);
    expect(await engine().jobs("gone")).toBe(1);
  });

  it("a job may wait as long for each retry as for its first run", async () => {
    const pendingRetentionMs = 72 * 3_600_000;
    const driver = engine().open("patience", { pendingRetentionMs });
    await queueAlarm(driver);
    const later = () => Promise.reject(new RetryLater({ afterMs: 24 * 3_600_000 }));
    const { stop } = watchWorker(driver, later, { retryLimit: 1 });
    const waits = (name: string) =>
      engine().sql(
        `SELECT round(extract(epoch FROM start_after - now()) / 3600)::int AS start,
          round(extract(epoch FROM keep_until - now()) / 3600)::int AS keep
          FROM pgboss.job WHERE name = $1`,
        name,
      ) as Promise<{ start: number; keep: number }[]>;
    await settlesAt(() => waits("patience"), [{ start: 24, keep: 96 }]);
    await engine().sql(
      `UPDATE pgboss.job SET start_after = now(), keep_until = now() + interval '72 h'
        WHERE name = 'patience'`,
    );
    const dead = async () => (await waits("patience-dead")).map(({ keep }) => keep);
    await settlesAt(dead, [144]);
    await stop();
  });

  it("a receiver answers 500 on a PgBoss that is not started", async () => {
    const driver = pgBossQueue({ boss: new PgBoss(engine().url) });
    expect((await queueAlarm(driver)).status).toBe(500);
    await watchWorker(driver, () => undefined).stop();
  });

  it("a job that waits for its next run is deleted when its expired run succeeds", async () => {
    const driver = engine().open("overdue");
    await queueAlarm(driver);
    const release = deferred();
    let runs = 0;
    const handle = () => {
      runs += 1;
      return release.promise;
    };
    // It asks for no other job meanwhile.
    const { stop } = watchWorker(driver, handle, { concurrency: 1 });
    await settlesAt(() => runs, 1);
    const states = () => engine().sql("SELECT state FROM pgboss.job WHERE name = 'overdue'");
    await settlesAt(async () => {
      // As if the worker had been paused. It may have extended the job since.
      await engine().sql(
        "UPDATE pgboss.job SET heartbeat_on = now() - interval '61 s' WHERE name = 'overdue'",
      );
      return states();
    }, [{ state: "retry" }]);
    release.resolve();
    await settlesAt(states, []);
    await stop();
    expect(runs).toBe(1);
  });

  /** A queue whose first jobs `wait` sees before they arrive. */
  const slow = (name: string, wait: () => Promise<unknown>) => {
    let isFirst = true;
    return engine().open(name, {}, (client) =>
      overriding(client, {
        async fetch(...given) {
          const jobs = await client.fetch(...given);
          if (isFirst && jobs.length > 0) {
            isFirst = false;
            await wait();
          }
          return jobs;
        },
      }),
    );
  };

  it("jobs that arrive after the timeout of their fetch run", async () => {
    const driver = slow("slow", () => settlesAt(() => lines.length, 1));
    for (const account of [1, 2, 3]) await queueAlarm(driver, account);
    const { lines, logger } = watchedLog();
    const handled: [number, boolean][] = [];
    let running = 0;
    let most = 0;
    const { stop } = watchWorker(
      driver,
      async (alarm, { takeover }) => {
        running += 1;
        most = Math.max(most, running);
        handled.push([alarm.account_id, takeover]);
        await new Promise(setImmediate);
        running -= 1;
      },
      { concurrency: 2, logger },
    );
    await settlesAt(() => engine().jobs("slow"), 0);
    await stop();
    const late = { err: expect.objectContaining({ code: "deadline_exceeded" }) as unknown };
    expect(lines.map(([, details]) => details)).toMatchObject([late]);
    expect(handled.toSorted()).toEqual([1, 2, 3].map((account) => [account, false]));
    expect(most).toBeLessThanOrEqual(2);
  });

  it("a pg-boss job that arrives during a stop gets an aborted signal", async () => {
    const fetched = deferred();
    const release = deferred();
    const driver = slow("last", () => {
      fetched.resolve();
      return release.promise;
    });
    await queueAlarm(driver);
    const reasons: unknown[] = [];
    const { stop } = watchWorker(driver, (_, { signal }) => void reasons.push(signal.reason));
    await fetched.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([expect.objectContaining({ code: "worker_stopping" })]);
    expect(await engine().jobs("last")).toBe(0);
  });

  describe("on dead connections", () => {
    let proxy: BlackHoleProxy;
    let boss: PgBoss;

    beforeEach(async () => {
      proxy = await startBlackHoleProxy(engine().server.port);
      boss = await startPgBoss(postgresUrl(proxy.port));
    });
    afterEach(async () => {
      void boss.stop({ graceful: false });
      await proxy.close();
    });

    it("a receiver recovers after the creation of its queues got no answer", async () => {
      const receiver = inboxReceiver(pgBossQueue({ boss, queueName: "made" }), 500);
      const delivery = await alarmDelivery(1);
      proxy.swallow();
      expect((await receiver.receive(delivery)).status).toBe(500);
      await settlesAt(async () => (await receiver.receive(delivery)).status, 200);
    });
  });

  describe("on a PostgreSQL that refuses rows", () => {
    // One trigger for all tests: to make or drop one beside the worker can end in a deadlock.
    beforeAll(async () => {
      await engine().sql("CREATE TABLE refused (event text)");
      await engine().sql(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF EXISTS (SELECT FROM public.refused WHERE event = TG_OP) THEN
            RAISE EXCEPTION 'no such row: %', COALESCE(NEW::text, OLD::text)
              USING DETAIL = COALESCE(NEW::text, OLD::text);
          END IF;
          RETURN COALESCE(NEW, OLD);
        END $$`);
      await engine().sql(`
        CREATE TRIGGER refusing BEFORE INSERT OR DELETE ON pgboss.job
          FOR EACH ROW EXECUTE FUNCTION refuse()`);
    });
    afterEach(() => engine().sql("DELETE FROM refused"));

    const refuseEach = (event: "INSERT" | "DELETE") =>
      engine().sql("INSERT INTO refused VALUES ($1)", event);

    it("a receiver reports a refused row of PostgreSQL without the body", async () => {
      await refuseEach("INSERT");
      const { outcome, said } = await deliverCanaries(engine().open("refused"));
      expect(outcome).toBe("handler_failed");
      expect(canariesIn(said)).toEqual([]);
      expect(said).toContain("no such row");
    });

    it.each<[string, Parameters<typeof refuseEach>[0], () => unknown]>([
      ["completed", "DELETE", () => undefined],
      ["failed", "INSERT", () => Promise.reject(new Error("no"))],
    ])(
      "a worker reports the refused row of a %s job without the body",
      async (name, event, handle) => {
        const driver = engine().open(name);
        expect((await deliverCanaries(driver)).outcome).toBe("handled");
        await refuseEach(event);
        const { lines, logger } = watchedLog();
        const { stop } = watchWorker(driver, handle, { logger });
        await settlesAt(() => shownOf(...lines.flat()).includes("no such row"), true);
        await stop();
        expect(canariesIn(shownOf(...lines.flat()))).toEqual([]);
      },
    );
  });
});
