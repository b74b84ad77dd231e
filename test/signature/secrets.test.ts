import { backend } from "#crypto";
import { describe, expect, test, vi } from "vitest";
import { backend as web } from "../../src/signature/crypto/web.js";
import { TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const secret = {
  new_alarm: ["whsec_alarm_new", "whsec_alarm_old"],
  delete_my_data_event: "whsec_event",
};
const MISMATCH = { status: 409, outcome: "signature_mismatch" };

test("with secrets per webhook type, secretIndex counts within the list of the type", async () => {
  const { receive, reports } = recordingReceiver({
    secret: { new_alarm: "whsec_alarm", delete_my_data_event: ["whsec_next", "whsec_current"] },
  });
  for (const signer of ["whsec_next", "whsec_current"]) {
    await receive(await eventDelivery("DATA_DELETED", { id: signer, secret: signer }));
  }
  expect(reports).toMatchObject([
    { outcome: "handled", secretIndex: 0 },
    { outcome: "handled", secretIndex: 1 },
  ]);
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

test("a secret per webhook type refuses a delivery with the other type's header", async () => {
  const { receive, handled } = recordingReceiver({ secret });
  const asEvent = await delivery({ secret: "whsec_alarm_new", type: "delete_my_data_event" });
  expect(await receive(asEvent)).toMatchObject(MISMATCH);
  const event = await eventDelivery("DATA_DELETED", { secret: "whsec_event", type: "new_alarm" });
  expect(await receive(event)).toMatchObject(MISMATCH);
  expect(handled).toEqual([]);
});

test("with secrets per webhook type, an undocumented type tries the secrets of all types", async () => {
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

test("later changes of the array of secrets have no effect", async () => {
  const secrets = [TEST_SECRET];
  const { receive, reports } = recordingReceiver({ secret: secrets });
  secrets[0] = "whsec_replaced";
  await receive(await delivery());
  await receive(await delivery({ id: "b", secret: "whsec_replaced" }));
  expect(reports).toMatchObject([
    { outcome: "handled", secretIndex: 0 },
    { outcome: "signature_mismatch" },
  ]);
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

// Node's backend imports no key with WebCrypto.
describe.runIf(Object.is(backend, web))("on WebCrypto", () => {
  test("on WebCrypto, a secret whose key fails to import once is imported again for the next delivery", async () => {
    const { receive, handled, reports } = recordingReceiver();
    const request = await delivery();
    const failure = new Error("the key service is busy");
    vi.spyOn(crypto.subtle, "importKey").mockRejectedValueOnce(failure);
    expect(await receive(request)).toMatchObject({ status: 500, outcome: "internal_error" });
    expect(reports[0]?.error).toBe(failure);
    expect(handled).toEqual([]);
    expect(await receive(request)).toMatchObject({ status: 200, outcome: "handled" });
    expect(handled).toEqual([alarm()]);
  });

  test("on WebCrypto, the key of a secret is imported once, also for deliveries at the same time", async () => {
    const { receive, handled } = recordingReceiver();
    const requests = await Promise.all(["a", "b", "c"].map((id) => delivery({ id })));
    const importKey = vi.spyOn(crypto.subtle, "importKey");
    await Promise.all(requests.map(receive));
    expect(handled).toHaveLength(3);
    expect(importKey).toHaveBeenCalledTimes(1);
  });
});
