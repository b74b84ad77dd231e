import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import type { WebhookReceiverOptions } from "../../src/index.js";
import { postgresStore, postgresTransactions } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { linesWith } from "../support/collector.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A client whose calls fail: the warning comes at the first call, whatever becomes of it. */
const clientWith = (members: object) => Object.assign(new EventEmitter(), members);
const pgPool = () => clientWith({ query: rejects, connect: rejects, totalCount: 0, options: {} });
const nodeRedis = () =>
  clientWith({ isOpen: true, isReady: true, evalSha: rejects, eval: rejects });
const ioredis = () =>
  clientWith({ status: "ready", connect: rejects, evalsha: rejects, eval: rejects });

type Make = (client: never) => WebhookReceiverOptions["store"];
const CLIENTS: readonly [string, () => EventEmitter, Make][] = [
  ["the pool of pg", pgPool, (pool) => postgresStore({ pool })],
  ["the pool of pg", pgPool, (pool) => postgresTransactions({ pool }) as never],
  ["the client of node-redis", nodeRedis, (client) => redisStore({ client, logger: false })],
];

/** The warnings of a receiver whose client gets a listener or none after the receiver was made. */
async function warningsOf(client: EventEmitter, make: Make, listens: boolean) {
  const { receive, lines } = recordingReceiver({ store: make(client as never) });
  expect(lines).toEqual([]);
  if (listens) client.on("error", () => undefined);
  for (const id of ["a", "b"]) await receive(await delivery({ id }));
  return linesWith(lines, "has no listener").map(({ message }) => message);
}

test.each(CLIENTS)(
  "%s without a listener for its error causes one warning at the first call: case %#",
  async (what, make, store) => {
    expect(await warningsOf(make(), store, false)).toEqual([expect.stringContaining(what)]);
    expect(await warningsOf(make(), store, true)).toEqual([]);
  },
);

test("a client of ioredis, which survives without a listener, causes no warning", async () => {
  const store: Make = (client) => redisStore({ client, logger: false });
  expect(await warningsOf(ioredis(), store, false)).toEqual([]);
});

test("a PgBoss without a listener for its error causes one line at the first put", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
  for (const listens of [true, false]) {
    const boss = clientWith(pgBossStub({ createQueue: rejects }));
    if (listens) boss.on("error", () => undefined);
    const driver = pgBossQueue({ boss: boss as never });
    expect(warn).not.toHaveBeenCalled();
    for (let time = 0; time < 2; time += 1) {
      await expect(driver.put({ id: "a" } as never, {})).rejects.toThrow();
    }
  }
  expect(warn.mock.calls).toEqual([[expect.stringContaining("the PgBoss has no listener")]]);
});
