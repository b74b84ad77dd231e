import { backend } from "#crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SecretFunction, SecretQuery } from "../../src/index.js";
import { NOW_MS, TEST_SECRET, delivery, eventDelivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a secret per webhook type", () => {
  const secret = {
    new_alarm: ["whsec_alarm_new", "whsec_alarm_old"],
    delete_my_data_event: "whsec_event",
  };
  const MISMATCH = { status: 409, outcome: "signature_mismatch" };

  test.each([
    ["whsec_alarm_new", 0],
    ["whsec_alarm_old", 1],
  ])(
    "a secret per webhook type accepts an alarm signed by %s, and reports its index",
    async (signer, secretIndex) => {
      const { receive, reports } = recordingReceiver({ secret });
      expect((await receive(await delivery({ secret: signer }))).outcome).toBe("handled");
      expect(reports).toMatchObject([{ secretIndex }]);
    },
  );

  test("with secrets per webhook type, secretIndex counts within the list of the type, so index 0 is the newest for events too", async () => {
    const { receive, reports } = recordingReceiver({
      secret: { new_alarm: "whsec_alarm", delete_my_data_event: ["whsec_next", "whsec_current"] },
    });
    for (const signer of ["whsec_next", "whsec_current"]) {
      const event = await eventDelivery("DATA_DELETED", { id: signer, secret: signer });
      expect((await receive(event)).outcome).toBe("handled");
    }
    expect(reports).toMatchObject([{ secretIndex: 0 }, { secretIndex: 1 }]);
  });

  test("a secret per webhook type refuses a delivery that the other type's secret signed", async () => {
    const { receive, handled } = recordingReceiver({ secret });
    expect(await receive(await delivery({ secret: "whsec_event" }))).toMatchObject(MISMATCH);
    for (const signer of secret.new_alarm) {
      const event = await eventDelivery("DATA_DELETED", { secret: signer });
      expect(await receive(event)).toMatchObject(MISMATCH);
    }
    expect(handled).toEqual([]);
  });

  test("a secret per webhook type refuses a delivery with the other type's header, because of its signature", async () => {
    const { receive, handled } = recordingReceiver({ secret });
    const alarm = await delivery({ secret: "whsec_alarm_new", type: "delete_my_data_event" });
    expect(await receive(alarm)).toMatchObject(MISMATCH);
    const event = await eventDelivery("DATA_DELETED", { secret: "whsec_event", type: "new_alarm" });
    expect(await receive(event)).toMatchObject(MISMATCH);
    expect(handled).toEqual([]);
  });

  test("with secrets per webhook type, an undocumented type tries the secrets of all types and no others", async () => {
    const taken: unknown[] = [];
    const { receive, reports } = recordingReceiver({
      secret,
      handlers: {
        new_alarm: (one) => taken.push(one),
        unrecognized: ({ body }) => taken.push(body),
      },
    });
    const signers = ["whsec_alarm_new", "whsec_alarm_old", "whsec_event", "whsec_another"];
    for (const signer of signers) {
      await receive(
        await delivery({ id: signer, secret: signer, type: "added_later", body: '{"a":1}' }),
      );
    }
    expect(reports.map(({ outcome, secretIndex }) => [outcome, secretIndex])).toEqual([
      ["handled", 0],
      ["handled", 1],
      ["handled", 0],
      ["signature_mismatch", undefined],
    ]);
    expect(taken).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }]);
  });

  test("with secrets per webhook type, an alarm under an undocumented type does not reach a handler", async () => {
    const { receive, handled } = recordingReceiver({ secret });
    const request = await delivery({ secret: "whsec_alarm_new", type: "added_later" });
    expect(await receive(request)).toMatchObject({ status: 409, outcome: "type_mismatch" });
    expect(handled).toEqual([]);
  });
});

describe("a secret function", () => {
  test.each<[string, SecretFunction]>([
    ["returns a text", () => TEST_SECRET],
    ["returns a promise of a text", () => Promise.resolve(TEST_SECRET)],
    ["returns a list", () => [TEST_SECRET]],
    ["returns a promise of a list", () => Promise.resolve([TEST_SECRET])],
    [
      "returns a thenable",
      () => ({ then: (...then) => Promise.resolve(TEST_SECRET).then(...then) }),
    ],
  ])("a secret function that %s is used", async (_, secret) => {
    const { receive, handled } = recordingReceiver({ secret });
    expect((await receive(await delivery())).outcome).toBe("handled");
    expect((await receive(await delivery({ id: "b", secret: "whsec_another" }))).outcome).toBe(
      "signature_mismatch",
    );
    expect(handled).toHaveLength(1);
  });

  test("a secret function receives id, type and timestamp of each signed delivery, and nothing else", async () => {
    const queries: SecretQuery[] = [];
    const { receive } = recordingReceiver({
      secret: (query) => {
        queries.push(query);
        return TEST_SECRET;
      },
    });
    await receive(await delivery({ id: "first" }));
    await receive(await eventDelivery("DATA_DELETED", { id: "second", timestamp: 1_759_999_999 }));
    await receive(await delivery({ id: "third", type: "added_later" }));
    expect(queries).toEqual([
      { id: "first", type: "new_alarm", timestamp: new Date(NOW_MS) },
      { id: "second", type: "delete_my_data_event", timestamp: new Date(NOW_MS - 1_000) },
      { id: "third", type: "added_later", timestamp: new Date(NOW_MS) },
    ]);
  });

  test("a secret function receives a valid Date for any timestamp that the grammar allows", async () => {
    const seen: number[] = [];
    const { receive } = recordingReceiver({
      secret: ({ timestamp }) => {
        seen.push(timestamp.getTime());
        return TEST_SECRET;
      },
    });
    await receive(await delivery({ timestamp: 0 }));
    await receive(await delivery({ timestamp: 999_999_999_999 }));
    expect(seen).toEqual([0, 999_999_999_999_000]);
  });

  test("a secret function may return other secrets each time, and each list is used for its own delivery with its index", async () => {
    const given: (string | string[])[] = ["whsec_a", ["whsec_b", "whsec_a"], "whsec_b"];
    const { receive, reports } = recordingReceiver({ secret: () => given.shift() ?? [] });
    for (const id of ["a", "b", "c"]) await receive(await delivery({ id, secret: "whsec_a" }));
    expect(reports.map(({ outcome, secretIndex }) => [outcome, secretIndex])).toEqual([
      ["handled", 0],
      ["handled", 1],
      ["signature_mismatch", undefined],
    ]);
  });

  test("a secret function's list may have unusable entries, and the others keep their own index", async () => {
    const secret = ["", undefined, " x ", "undefined", TEST_SECRET] as string[];
    const { receive, reports } = recordingReceiver({ secret: () => secret });
    await receive(await delivery());
    expect(reports).toMatchObject([{ outcome: "handled", secretIndex: 4 }]);
  });

  test("a secret function is called for each delivery, but the key of a returned secret is made once", async () => {
    const secret = vi.fn(() => ["whsec_one", "whsec_two"]);
    const { receive, reports } = recordingReceiver({ secret });
    const requests = [
      await delivery({ id: "a", secret: "whsec_two" }),
      await delivery({ id: "b", secret: "whsec_one" }),
      await delivery({ id: "c", secret: "whsec_three" }),
    ];
    const importKey = vi.spyOn(backend, "importKey");
    for (const request of requests) await receive(request);
    expect(secret).toHaveBeenCalledTimes(3);
    expect(importKey.mock.calls).toEqual([["whsec_one"], ["whsec_two"]]);
    expect(reports.map(({ secretIndex }) => secretIndex)).toEqual([1, 0, undefined]);
  });
});
