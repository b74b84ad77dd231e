import { afterEach, describe, expect, test, vi } from "vitest";
import type { SecretFunction, SecretList } from "../../src/index.js";
import { deferred, never, type Deferred } from "../support/deferred.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

afterEach(() => {
  vi.useRealTimers();
});

describe("a secret function that does not know the sender", () => {
  test.each<[string, SecretFunction]>([
    ["it returns undefined", () => undefined],
    ["it returns null", () => null],
    ["it returns an empty list", () => []],
    ["it returns a promise of undefined", () => Promise.resolve(undefined)],
    ["it returns a promise of an empty list", () => Promise.resolve([])],
  ])(
    "a secret function that does not know the sender is answered 409 signature_mismatch: %s",
    async (_, secret) => {
      const { receive, handled, reports } = recordingReceiver({ secret });
      expect(await receive(await delivery())).toMatchObject({
        status: 409,
        outcome: "signature_mismatch",
      });
      expect(handled).toEqual([]);
      expect(reports[0]).not.toHaveProperty("error");
    },
  );

  test("secrets per webhook type have no secret for a type that a stranger made up, which is answered 409 signature_mismatch", async () => {
    const secrets: Record<string, string> = { new_alarm: TEST_SECRET };
    const { receive } = recordingReceiver({ secret: ({ type }) => secrets[type] });
    const forged = await delivery({ type: "forged_type" });
    expect(await receive(forged)).toMatchObject({ status: 409, outcome: "signature_mismatch" });
    expect(await receive(await delivery())).toMatchObject({ outcome: "handled" });
  });
});

describe("the calls of a secret function", () => {
  /** A vault that answers when the test lets it. */
  function vault() {
    const calls: Deferred<SecretList>[] = [];
    const secret: SecretFunction = () => {
      const call = deferred<SecretList>();
      calls.push(call);
      return call.promise;
    };
    return { calls, secret };
  }

  test("at most maxConcurrentDeliveries calls of a secret function run at the same time, in order of arrival, however many forgeries come", async () => {
    let running = 0;
    let most = 0;
    const lookups: string[] = [];
    const { receive } = recordingReceiver({
      maxConcurrentDeliveries: 10,
      secret: async ({ id }) => {
        lookups.push(id);
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return TEST_SECRET;
      },
    });
    const ids = Array.from({ length: 500 }, (_, at) => `id-${String(at)}`);
    const forgeries = await Promise.all(
      ids.map((id) => delivery({ id, secret: "whsec_of_a_stranger" })),
    );
    const answers = await Promise.all(forgeries.map((request) => receive(request)));
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["signature_mismatch"]));
    expect(most).toBe(10);
    expect(lookups).toEqual(ids);
  });

  test("calls of a secret function that wait longer than dependencyTimeoutMs are given up without being made", async () => {
    vi.useFakeTimers();
    const { calls, secret } = vault();
    const { receive } = recordingReceiver({
      secret,
      maxConcurrentDeliveries: 1,
      dependencyTimeoutMs: 1_000,
    });
    const first = receive(await delivery({ id: "first" }));
    await vi.advanceTimersByTimeAsync(500);
    const second = receive(await delivery({ id: "second" }));
    await vi.advanceTimersByTimeAsync(500);
    expect(await first).toMatchObject({ status: 503, outcome: "secret_unavailable" });
    // The call starts with the time that is left.
    expect(calls).toHaveLength(2);
    const third = receive(await delivery({ id: "third" }));
    await vi.advanceTimersByTimeAsync(500);
    expect(await second).toMatchObject({ outcome: "secret_unavailable" });
    expect(calls).toHaveLength(3);
    calls[2]?.resolve(TEST_SECRET);
    expect(await third).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("calls of a secret function that still wait when their time is over are answered 503", async () => {
    vi.useFakeTimers();
    const { receive } = recordingReceiver({
      // A thenable that blocks its slot for longer than the others may wait.
      secret: ({ id }) => (id === "first" ? never<SecretList>() : TEST_SECRET),
      maxConcurrentDeliveries: 1,
      dependencyTimeoutMs: 1_000,
    });
    const ids = ["first", "second", "third"];
    const requests = await Promise.all(ids.map((id) => delivery({ id })));
    const answers = requests.map((request) => receive(request));
    await vi.advanceTimersByTimeAsync(1_000);
    const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
    expect(outcomes[0]).toBe("secret_unavailable");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a delivery that gave up waiting for a secret function takes no slot from those that come later", async () => {
    vi.useFakeTimers();
    const { receive } = recordingReceiver({
      secret: ({ id }) => (id === "next" ? TEST_SECRET : never<SecretList>()),
      maxConcurrentDeliveries: 1,
      dependencyTimeoutMs: 1_000,
    });
    const ids = ["first", "second", "third"];
    const requests = await Promise.all(ids.map((id) => delivery({ id })));
    const answers = requests.map((request) => receive(request));
    await vi.advanceTimersByTimeAsync(1_100);
    await Promise.all(answers);
    expect(await receive(await delivery({ id: "next" }))).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a secret function whose thenable throws leaves no timer behind", async () => {
    const request = await delivery();
    vi.useFakeTimers();
    const thrower = {
      then: () => {
        throw new Error("the vault is sealed");
      },
    };
    const { receive } = recordingReceiver({ secret: () => thrower });
    expect(await receive(request)).toMatchObject({ outcome: "secret_unavailable" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a call of a secret function frees its slot even if the runtime has ended the request and runs no timers", async () => {
    vi.useFakeTimers();
    const { receive } = recordingReceiver({
      secret: ({ id }) => (id === "ended" ? never<SecretList>() : TEST_SECRET),
      maxConcurrentDeliveries: 1,
      dependencyTimeoutMs: 1_000,
    });
    const ended = await delivery({ id: "ended" });
    void receive(ended);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await receive(await delivery({ id: "next" }))).toMatchObject({ outcome: "handled" });
  });

  test("a secret function that throws after a wait is answered 503 and delays no other call", async () => {
    const { calls, secret } = vault();
    const { receive, handled } = recordingReceiver({
      maxConcurrentDeliveries: 1,
      secret: (query) => {
        if (query.id === "second") throw new Error("the vault is sealed");
        return secret(query);
      },
    });
    const answers = ["first", "second", "third"].map(async (id) => receive(await delivery({ id })));
    await vi.waitUntil(() => calls.length === 1);
    calls[0]?.resolve(TEST_SECRET);
    await vi.waitUntil(() => calls.length === 2);
    calls[1]?.resolve(TEST_SECRET);
    const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["handled", "secret_unavailable", "handled"]);
    expect(handled).toHaveLength(2);
  });
});
