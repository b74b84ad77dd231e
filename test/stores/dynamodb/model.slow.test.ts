import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import type { DynamoClient } from "../../../src/stores/dynamodb/dynamo-client.js";
import { startDynalite } from "../../support/dynamodb/dynalite-server.js";
import {
  makeTable,
  openSdkClient,
  type SdkClient,
} from "../../support/dynamodb/dynamodb-clients.js";
import { startedForAll } from "../../support/started-for-all.js";

const TABLE = "model";
const [LEASE_MS, RETENTION_MS, SKEW_MS] = [1_000, 8_000, 200];
const TIMES = { leaseMs: LEASE_MS, retentionMs: RETENTION_MS };

const server = startedForAll(() => startDynalite({ inMemory: true }));
let client: SdkClient;
/** The true time. The clock of each host differs from it by half of the skew at most. */
let ms = 0;

beforeAll(async () => {
  client = await openSdkClient(server().url);
  await makeTable(client, TABLE);
});
afterAll(() => client.destroy());

const offsets = fc.integer({ min: -SKEW_MS / 2, max: SKEW_MS / 2 });
const steps = fc.constantFrom(1, 150, 400, LEASE_MS - 1, LEASE_MS, LEASE_MS + SKEW_MS, 9_000);

/** How many requests the server works on. */
let underWay = 0;

/** Lets the server answer before the scheduler goes on, so that a seed always gives the same order. */
async function untilAnswered(step: () => Promise<void>): Promise<void> {
  await step();
  do await new Promise((resolve) => setImmediate(resolve));
  while (underWay > 0);
}

/** Passes each request and each answer on when the scheduler says so, and sends some requests twice. */
function scheduled(scheduler: fc.Scheduler, repeats: () => boolean): DynamoClient {
  const pass =
    <Input, Options, Output>(call: (input: Input, options: Options) => Promise<Output>) =>
    async (input: Input, options: Options): Promise<Output> => {
      const send: typeof call = (...args) => {
        underWay += 1;
        return call(...args).finally(() => (underWay -= 1));
      };
      await scheduler.schedule(Promise.resolve(), "request");
      const isRepeated = repeats();
      let answer = send(input, options);
      if (isRepeated) {
        // The answer is lost, and the SDK sends the request again.
        await answer.catch(() => undefined);
        await scheduler.schedule(Promise.resolve(), "request again");
        answer = send(input, options);
      }
      // Both as values: an early rejection would count as unhandled.
      const settled = await answer.then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      await scheduler.schedule(Promise.resolve(), "answer");
      if ("error" in settled) throw settled.error;
      return settled.value;
    };
  return {
    send: client.send.bind(client),
    getItem: pass((input, options) => client.getItem(input, options)),
    putItem: pass((input, options) => client.putItem(input, options)),
    updateItem: pass((input, options) => client.updateItem(input, options)),
    deleteItem: pass((input, options) => client.deleteItem(input, options)),
  };
}

const hosts = fc.array(
  fc.record({
    offMs: offsets,
    /** What follows a claim that was granted. A crash is the end of that owner, without a call. */
    ends: fc.array(fc.constantFrom("complete", "release", "crash", "renew and complete"), {
      minLength: 1,
      maxLength: 4,
    }),
    waits: fc.array(steps, { minLength: 4, maxLength: 4 }),
  }),
  { minLength: 2, maxLength: 4 },
);

it("in every order of requests at most one owner holds a delivery", async () => {
  const repeated = fc.infiniteStream(fc.integer({ min: 0, max: 3 }));
  const property = fc.asyncProperty(
    fc.scheduler({ act: untilAnswered }),
    hosts,
    repeated,
    async (scheduler, given, draws) => {
      ms = 1_800_000_000_000;
      const key = randomUUID();
      const through = scheduled(scheduler, () => draws.next().value === 0);
      /** When each owner stops to believe that it holds the delivery, in true time. */
      const held = new Map<string, number>();
      let completedAt: number | undefined;
      let isCompleting = false;
      let crashes = 0;

      const live = async (host: (typeof given)[number], index: number) => {
        const now = () => ms + host.offMs;
        const store = dynamoStore({ client: through, table: TABLE, clockSkewMs: SKEW_MS, now });
        for (const [round, end] of host.ends.entries()) {
          const owner = `${index}-${round}`;
          const [calledAt, wasCompletedAt, crashed] = [ms, completedAt, crashes];
          const result = await store.claim(key, owner, TIMES);
          const isRemembered = ms < (wasCompletedAt ?? -Infinity) + RETENTION_MS - SKEW_MS;
          if (isRemembered) expect(result.state).toBe("completed");
          if (result.state === "completed") expect(isCompleting).toBe(true);
          if (result.state === "claimed") {
            for (const until of held.values()) expect(until).toBeLessThanOrEqual(ms);
            if (crashed > 0 && !isCompleting) expect(result.takeover).toBe(true);
            held.set(owner, calledAt + LEASE_MS);
            const renewedAt = ms;
            if (end === "renew and complete" && (await store.renew(key, owner, TIMES))) {
              held.set(owner, renewedAt + LEASE_MS);
            }
            if (end === "crash") crashes += 1;
            else held.delete(owner);
            if (end === "release") await store.release(key, owner);
            if (end.endsWith("complete")) {
              isCompleting = true;
              const completingAt = ms;
              await store.complete(key, owner, TIMES);
              completedAt ??= completingAt;
            }
          }
          await scheduler.schedule(Promise.resolve(), "time passes");
          ms += host.waits[round] ?? 0;
        }
      };
      await scheduler.waitFor(Promise.all(given.map(live)));
    },
  );
  await fc.assert(property, { seed: 20_261_122, numRuns: 150 });
});
