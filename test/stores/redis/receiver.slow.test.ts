import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import type { AlarmHandler } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { STANDALONE_KINDS, portsOf } from "../../support/redis/redis-clients.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer, type RedisServer } from "../../support/redis/redis-server.js";
import { testTwoReceivers } from "../../support/stores/two-receivers.js";

const PROCESS = fileURLToPath(
  new URL("../../support/redis/redis-receiver-process.ts", import.meta.url),
);

describe.each(STANDALONE_KINDS)("through $name", (kind) => {
  describeRedis("two receivers over one Redis", () => {
    let server: RedisServer;

    beforeEach(async () => {
      server = await startRedisServer();
      onTestFinished(server.close);
    });

    async function openStore(): Promise<DeliveryStore> {
      const { client, close } = await kind.open(portsOf(server));
      onTestFinished(close);
      return redisStore({ client });
    }

    const { receiver, lastReport } = testTwoReceivers("Redis", openStore);

    it("a second receiver takes over after the lease of a killed process", async () => {
      const id = randomUUID();
      const args = ["--import", "tsx", PROCESS, String(server.port), id, "3000"];
      const killed = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void killed.kill("SIGKILL"));
      await once(killed.stdout, "data");
      const two = await receiver(({ takeover }) => {
        expect(takeover).toBe(true);
      });
      const request = await delivery({ id });
      // Longer than the lease: the process renews it while it lives.
      await wait(3_900);
      expect(await two.receive(request)).toMatchObject({ status: 409, outcome: "in_flight" });
      killed.kill("SIGKILL");
      await once(killed, "exit");
      expect(await two.receive(request)).toMatchObject({ status: 409, outcome: "in_flight" });
      await expect
        .poll(async () => (await two.receive(request)).outcome, { interval: 50 })
        .toBe("handled");
      expect(lastReport()).toMatchObject({ outcome: "handled", takeover: true });
    });

    it("a receiver answers 503 in time while Redis hangs, and the delivery is handled later", async () => {
      const runs: string[] = [];
      const handler: AlarmHandler = ({ id }) => runs.push(id);
      const one = await receiver(handler, { dependencyTimeoutMs: 300 });
      const patient = await receiver(handler);
      expect(await patient.receive(await delivery({ id: "before" }))).toMatchObject({
        status: 200,
      });
      const request = await delivery({ id: "during" });
      server.pause();
      const startedAt = performance.now();
      expect(await one.receive(request)).toMatchObject({
        status: 503,
        outcome: "store_unavailable",
      });
      // The default is 5 s.
      expect(performance.now() - startedAt).toBeLessThan(4_500);
      server.resume();
      // The claim that the server granted too late is released at once.
      await expect.poll(async () => (await one.receive(request)).outcome).toBe("handled");
      expect(runs).toEqual(["before", "during"]);
    });

    it("a delivery handled while Redis was away is completed once it is back", async () => {
      const one = await receiver(() => server.kill());
      const request = await delivery();
      expect(await one.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
      expect(await one.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
      expect(await one.receive(await delivery({ id: "other" }))).toMatchObject({ status: 503 });
      await server.start();
      const store = await openStore();
      const held = { leaseMs: 1, retentionMs: 1 };
      await expect
        .poll(() => store.claim(request.headers["x-webhook-id"], "a", held))
        .toEqual({ state: "completed" });
    });
  });
});
