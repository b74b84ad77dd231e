import { backend } from "#crypto";
import { describe, expect, test, vi } from "vitest";
import type { SecretFunction } from "../../src/index.js";
import type { SecretQuery } from "../../src/signature/secrets.js";
import { TEST_SECRET, delivery, eventDelivery } from "../support/deliveries.js";
import { createCollector } from "../support/collector.js";
import { recordingReceiver } from "../support/recording-receiver.js";

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

  test("a secret function receives documented types alone, each of them for a type that a stranger may have made up", async () => {
    const queries: SecretQuery[] = [];
    const { receive } = recordingReceiver({
      secret: (query) => {
        queries.push(query);
        return TEST_SECRET;
      },
    });
    await receive(await delivery({ id: "first" }));
    await receive(await eventDelivery("DATA_DELETED", { id: "second" }));
    expect(queries.splice(0)).toEqual([{ type: "new_alarm" }, { type: "delete_my_data_event" }]);
    for (const type of ["added_later", "constructor", "__proto__", "NEW_ALARM"]) {
      await receive(await delivery({ id: type, type }));
      expect(queries.splice(0)).toEqual([{ type: "new_alarm" }, { type: "delete_my_data_event" }]);
    }
  });

  test.each([
    ["the first type's secret", "whsec_of_alarms", "unrecognized", 503],
    ["the last type's secret", "whsec_of_events", "unrecognized", 503],
    ["no type's secret", "whsec_of_a_stranger", "signature_mismatch", 409],
  ])(
    "a delivery of a type that is not documented yet, signed with %s, is answered as with a map of secrets",
    async (_, secret, outcome, status) => {
      const secrets = { new_alarm: "whsec_of_alarms", delete_my_data_event: "whsec_of_events" };
      const request = await delivery({ type: "added_later", body: "{}", secret });
      for (const option of [secrets, ({ type }: SecretQuery) => secrets[type]]) {
        const { receive } = recordingReceiver({ secret: option });
        expect(await receive(request)).toMatchObject({ outcome, status });
      }
    },
  );

  test("a secret function that fails for one type is answered 503 for a type that is not documented, without an unhandled rejection", async () => {
    const { receive } = recordingReceiver({
      secret: ({ type }) => {
        if (type === "new_alarm") throw new Error("the vault is sealed");
        return Promise.reject(new Error("the vault is sealed"));
      },
    });
    const answer = await receive(await delivery({ type: "added_later" }));
    expect(answer).toMatchObject({ outcome: "secret_unavailable", status: 503 });
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

  test("an unusable entry of a secret function's list is named once, and one that is not set is none", async () => {
    const { options, lines } = createCollector();
    const list = [undefined, null, "whsec_new_0123456789abcdef\n", TEST_SECRET] as string[];
    const secret = () => list;
    const { receive } = recordingReceiver({ secret, logger: options.logger });
    for (const id of ["a", "b"]) await receive(await delivery({ id }));
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringMatching(/entry 2 of .* secret function .* white space at an end/),
    ]);
    expect(JSON.stringify(lines)).not.toContain("whsec_new");
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
