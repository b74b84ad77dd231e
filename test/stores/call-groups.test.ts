import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { CallGroups, type KeyedCall } from "../../src/stores/call-groups.js";
import { CallLimits } from "../../src/stores/call-limits.js";
import { deferred } from "../support/deferred.js";

interface NumberedCall extends KeyedCall {
  readonly number: number;
}

/** Each names how the server treats its calls. */
const KEYS = ["plain a", "plain b", "plain c", "locked", "poisoned", "overtaken"] as const;

const deadline = () => new CallLimits().deadline();

/** Sends a call, by default one that may take its time. */
function send(
  groups: CallGroups<NumberedCall, number>,
  number: number,
  call: Partial<NumberedCall> = {},
): Promise<number> {
  return groups.send({ key: `key ${String(number)}`, number, deadline: deadline(), ...call });
}

/** A verb that notes how it is used. Each of its calls resolves to its own number. */
function observedVerb(pass: () => Promise<unknown>) {
  const seen = { together: [] as number[][], alone: [] as number[], faults: [] as string[] };
  const onTheirWay = new Set<string>();
  let groups = 0;

  const during = async <T>(calls: readonly NumberedCall[], work: () => T): Promise<T> => {
    for (const { key } of calls) {
      if (onTheirWay.has(key)) seen.faults.push(`two calls for ${key}`);
      onTheirWay.add(key);
    }
    await pass();
    for (const { key } of calls) onTheirWay.delete(key);
    return work();
  };
  const groupsOf = new CallGroups<NumberedCall, number>({
    async together(calls) {
      groups += 1;
      if (groups > 2) seen.faults.push("three groups");
      seen.together.push(calls.map(({ number }) => number));
      const keys = calls.map(({ key }) => key);
      if (keys.join() !== [...keys].sort().join()) seen.faults.push(`not sorted: ${keys.join()}`);
      try {
        return await during(calls, () => {
          for (const bad of ["locked", "poisoned"]) if (keys.includes(bad)) throw new Error(bad);
          return calls.map(({ key, number }) => (key === "overtaken" ? undefined : number));
        });
      } finally {
        groups -= 1;
      }
    },
    async alone(call, wait) {
      seen.alone.push(call.number);
      return during([call], () => {
        if (call.key === "poisoned") throw new Error("poisoned");
        if (call.key === "locked" && wait !== "long") throw new Error("locked");
        return call.number;
      });
    },
    isLocked: (error) => String(error).includes("locked"),
  });
  return { seen, groups: groupsOf };
}

it("each call gets its own result or error, in any order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.constantFrom(...KEYS), { maxLength: 8 }), { maxLength: 6 }),
      fc.scheduler(),
      async (turns, scheduler) => {
        const { seen, groups } = observedVerb(() => scheduler.schedule(Promise.resolve()));
        let number = 0;
        const calls = turns.flatMap((keys) => {
          const turn = keys.map((key) => ({ key, number: (number += 1), deadline: deadline() }));
          const start = scheduler.schedule(Promise.resolve());
          return turn.map((call) =>
            start
              .then(() => groups.send(call))
              .then(
                (result) => {
                  expect(result).toBe(call.number);
                  expect(call.key).not.toBe("poisoned");
                },
                (error: unknown) => {
                  expect(error).toEqual(new Error("poisoned"));
                  expect(call.key).toBe("poisoned");
                },
              ),
          );
        });
        await scheduler.waitFor(Promise.all(calls));
        expect(seen.faults).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});

it("the first call is sent at once, and the rest of the turn as a group", async () => {
  const { seen, groups } = observedVerb(() => Promise.resolve());
  const calls = [1, 2, 3, 4].map((number) => send(groups, number, { key: `${5 - number}` }));
  expect(seen.alone).toEqual([1]);
  expect(await Promise.all(calls)).toEqual([1, 2, 3, 4]);
  expect(seen.together).toEqual([[4, 3, 2]]);
  expect(seen.alone).toEqual([1]);
});

it("at most two groups are on their way, of at most 200 calls", async () => {
  const answer = deferred();
  const { seen, groups } = observedVerb(() => answer.promise);
  const calls = Array.from({ length: 201 }, (_, index) => send(groups, index));
  await new Promise((resolve) => setImmediate(resolve));
  calls.push(...Array.from({ length: 450 }, (_, index) => send(groups, 1_000 + index)));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.together.map(({ length }) => length)).toEqual([200]);
  answer.resolve();
  await Promise.all(calls);
  expect(seen.together.map(({ length }) => length)).toEqual([200, 200, 200, 50]);
});

it("calls of a group that fails are sent alone, four at a time", async () => {
  const answer = deferred();
  let onTheirWay = 0;
  let most = 0;
  const groups = new CallGroups<NumberedCall, number>({
    together: () => Promise.reject(new Error("the connection broke")),
    async alone({ number }) {
      if (number === 0) return number;
      onTheirWay += 1;
      most = Math.max(most, onTheirWay);
      await answer.promise;
      onTheirWay -= 1;
      return number;
    },
    isLocked: () => false,
  });
  const numbers = Array.from({ length: 12 }, (_, number) => number);
  const calls = numbers.map((number) => send(groups, number));
  await vi.waitUntil(() => most === 4);
  answer.resolve();
  expect(await Promise.all(calls)).toEqual(numbers);
  expect(most).toBe(4);
});

it("a call whose time is over when its group fails is not sent alone", async () => {
  const alone: number[] = [];
  const failure = new Error("no answer in time");
  let isOver = false;
  const groups = new CallGroups<NumberedCall, number>({
    together() {
      isOver = true;
      return Promise.reject(failure);
    },
    alone({ number }) {
      alone.push(number);
      return Promise.resolve(number);
    },
    isLocked: () => false,
  });
  const short = { limitMs: 5, remainingMs: () => 1, isOver: () => isOver };
  const calls = [send(groups, 1), send(groups, 2, { deadline: short }), send(groups, 3)];
  expect(await Promise.allSettled(calls)).toEqual([
    { status: "fulfilled", value: 1 },
    { status: "rejected", reason: failure },
    { status: "fulfilled", value: 3 },
  ]);
  expect(alone).toEqual([1, 3]);
});

it("calls that wait for locked rows delay no call for another row", async () => {
  const unlocked = deferred();
  const groups = new CallGroups<NumberedCall, number>({
    together: () => Promise.reject(new Error("locked")),
    async alone({ key, number }, wait) {
      if (!key.startsWith("locked")) return number;
      if (wait !== "long") throw new Error("locked");
      await unlocked.promise;
      return number;
    },
    isLocked: (error) => String(error).includes("locked"),
  });
  const waiting = Array.from({ length: 6 }, (_, number) =>
    send(groups, number, { key: `locked ${number}` }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const others = [0, 1, 2].map((number) => send(groups, number));
  expect(await Promise.all(others)).toEqual([0, 1, 2]);
  unlocked.resolve();
  expect(await Promise.all(waiting)).toEqual([0, 1, 2, 3, 4, 5]);
});

it("a call that waited beyond its deadline is not sent", async () => {
  const answer = deferred();
  const { seen, groups } = observedVerb(() => answer.promise);
  let isOver = false;
  const short = { limitMs: 5, remainingMs: () => 1, isOver: () => isOver };
  const first = send(groups, 1, { key: "same" });
  const late = send(groups, 2, { key: "same", deadline: short });
  isOver = true;
  answer.resolve();
  expect(await first).toBe(1);
  await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" });
  expect(seen.alone).toEqual([1]);
});
