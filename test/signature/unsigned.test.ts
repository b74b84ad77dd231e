import { expect, test } from "vitest";
import { alarm, delivery, onlineDataEvent } from "../support/deliveries.js";
import { trustingReceiver } from "../support/recording-receiver.js";

async function unsignedDelivery(...overrides: Parameters<typeof delivery>) {
  const { headers, ...request } = await delivery(...overrides);
  return { ...request, headers: { ...headers, "x-webhook-signature": undefined } };
}

test("with acceptUnsignedDeliveries, a delivery without a signature is handled once", async () => {
  const { receiver, handled, reports } = trustingReceiver();
  const request = await unsignedDelivery();
  expect((await receiver.receive(request)).outcome).toBe("handled");
  expect((await receiver.receive(request)).outcome).toBe("duplicate");
  expect(handled).toEqual([alarm()]);
  expect(reports[0]?.secretIndex).toBeUndefined();
});

test("with acceptUnsignedDeliveries, a signature is ignored, right or wrong", async () => {
  const { receiver } = trustingReceiver();
  expect((await receiver.receive(await delivery({ id: "a" }))).outcome).toBe("handled");
  const forged = await delivery({ id: "b", secret: "whsec_another" });
  expect((await receiver.receive(forged)).outcome).toBe("handled");
});

test("with acceptUnsignedDeliveries, the header grammar still holds", async () => {
  const { receiver, handled } = trustingReceiver();
  const { headers, body } = await unsignedDelivery();
  for (const change of [
    { "x-webhook-id": "a:b" },
    { "x-webhook-signature": "v1=" },
    { "x-webhook-signature": "" },
  ]) {
    const answer = await receiver.receive({ headers: { ...headers, ...change }, body });
    expect(answer).toMatchObject({ status: 409, outcome: "malformed" });
  }
  expect(handled).toEqual([]);
});

test("with acceptUnsignedDeliveries, freshness, type and shape are still checked", async () => {
  const { receiver, handled } = trustingReceiver();
  const outcomeOf = async (...overrides: Parameters<typeof delivery>) =>
    (await receiver.receive(await unsignedDelivery(...overrides))).outcome;
  expect(await outcomeOf({ timestamp: 0 })).toBe("stale");
  expect(await outcomeOf({ type: "delete_my_data_event" })).toBe("type_mismatch");
  const event = JSON.stringify({ event: onlineDataEvent("DATA_DELETED") });
  expect(await outcomeOf({ body: event })).toBe("type_mismatch");
  expect(await outcomeOf({ body: "not json" })).toBe("unrecognized");
  expect(handled).toEqual([]);
});
