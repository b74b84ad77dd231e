import { backend } from "#crypto";
import { describe, expect, test, vi } from "vitest";
import { verifySignature } from "../../src/index.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const SECRETS = ["whsec_first", "whsec_second", "whsec_third", "whsec_fourth", "whsec_fifth"];

describe("a list of secrets", () => {
  test.each(SECRETS.map((secret, index) => [index, secret] as const))(
    "a list of secrets accepts a delivery signed by the secret at index %i, and reports the index",
    async (index, secret) => {
      const { receive, reports, handled } = recordingReceiver({ secret: SECRETS });
      const request = await delivery({ secret });
      expect((await receive(request)).outcome).toBe("handled");
      expect(handled).toHaveLength(1);
      expect(reports).toMatchObject([{ outcome: "handled", secretIndex: index }]);
      expect(await verifySignature({ secret: SECRETS, ...request })).toBe(true);
    },
  );

  test("a list of secrets refuses a delivery that none of them signed, after trying each", async () => {
    const verify = vi.spyOn(backend, "verify");
    const { receive, handled, reports } = recordingReceiver({ secret: SECRETS });
    expect(await receive(await delivery())).toMatchObject({
      status: 409,
      outcome: "signature_mismatch",
    });
    expect(new Set(verify.mock.calls.map(([key]) => key)).size).toBe(SECRETS.length);
    expect(handled).toEqual([]);
    expect(reports[0]).not.toHaveProperty("secretIndex");
  });

  test("a list of secrets reports the first index of a secret that it contains twice", async () => {
    const { receive, reports } = recordingReceiver({
      secret: ["whsec_other", TEST_SECRET, TEST_SECRET],
    });
    await receive(await delivery());
    expect(reports).toMatchObject([{ secretIndex: 1 }]);
  });

  test("a list of secrets is read when the receiver is created, and later changes of the array have no effect", async () => {
    const secrets = [TEST_SECRET];
    const { receive } = recordingReceiver({ secret: secrets });
    secrets[0] = "whsec_replaced";
    expect((await receive(await delivery())).outcome).toBe("handled");
    expect((await receive(await delivery({ id: "b", secret: "whsec_replaced" }))).outcome).toBe(
      "signature_mismatch",
    );
  });

  test("a list of secrets may have a single entry", async () => {
    const { receive, reports } = recordingReceiver({ secret: [TEST_SECRET] });
    await receive(await delivery());
    expect(reports).toMatchObject([{ outcome: "handled", secretIndex: 0 }]);
  });
});

test("a single secret has index 0", async () => {
  const { receive, reports } = recordingReceiver();
  await receive(await delivery());
  expect(reports).toMatchObject([{ outcome: "handled", secretIndex: 0 }]);
});

test("the key of a configured secret is made once, not for every request", async () => {
  const importKey = vi.spyOn(backend, "importKey");
  const { receive } = recordingReceiver({ secret: ["whsec_one", "whsec_two"] });
  expect(importKey).toHaveBeenCalledTimes(2);
  const requests = [await delivery({ secret: "whsec_two" }), await delivery({ id: "b" })];
  importKey.mockClear();
  for (const request of requests) await receive(request);
  expect(importKey).not.toHaveBeenCalled();
});
