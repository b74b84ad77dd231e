import { describe, expect, test } from "vitest";
import {
  createWebhookReceiver,
  RetryLater,
  type AuthenticDelivery,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { never } from "../support/deferred.js";
import {
  NOW_MS,
  NOW_SECONDS,
  TEST_SECRET,
  delivery,
  eventDelivery,
} from "../support/deliveries.js";
import { throws } from "../support/faults.js";
import { spiedStore } from "../support/spied-store.js";

/** A receiver and the deliveries that onAuthenticDelivery receives. */
function observedReceiver(options: Partial<WebhookReceiverOptions> = {}) {
  const seen: AuthenticDelivery[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: () => undefined },
    logger: false,
    now: () => NOW_MS,
    onAuthenticDelivery: (observed) => seen.push(observed),
    ...options,
  } as WebhookReceiverOptions);
  return { receiver, seen };
}

const outcomesOf = (seen: readonly AuthenticDelivery[]) => seen.map(({ outcome }) => outcome);

describe("onAuthenticDelivery", () => {
  test("onAuthenticDelivery receives the request itself and its outcome", async () => {
    const { receiver, seen } = observedReceiver();
    const request = await delivery();
    await receiver.receive(request);
    expect(seen).toEqual([
      {
        request,
        id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        type: "new_alarm",
        receivedAt: new Date(NOW_MS),
        outcome: "handled",
        status: 200,
      },
    ]);
    expect(seen[0]?.request).toBe(request);
  });

  test("onAuthenticDelivery is called once for each request with a valid signature, whatever its outcome", async () => {
    let failure: Error | undefined = new Error("no");
    const { receiver, seen } = observedReceiver({
      handlers: {
        new_alarm: () => {
          if (failure !== undefined) throw failure;
        },
      },
    });
    const send = async (overrides?: Parameters<typeof delivery>[0]) =>
      receiver.receive(await delivery(overrides));
    await send();
    failure = new RetryLater();
    await send();
    failure = undefined;
    await send();
    await send();
    await send({ timestamp: NOW_SECONDS - 301 });
    await send({ type: "delete_my_data_event" });
    await send({ body: "no JSON" });
    await send({ type: "of_another_kind", body: "{}" });
    await receiver.receive(await eventDelivery("DATA_DELETED"));
    expect(outcomesOf(seen)).toEqual([
      "handler_failed",
      "retry_later",
      "handled",
      "duplicate",
      "stale",
      "type_mismatch",
      "unrecognized",
      "unrecognized",
      "unhandled",
    ]);
    expect(seen.map(({ status }) => status)).toEqual([500, 503, 200, 200, 409, 409, 503, 503, 200]);
    expect(seen[5]?.type).toBe("delete_my_data_event");
    expect(seen[7]?.type).toBe("of_another_kind");
  });

  test("onAuthenticDelivery receives the status of unverifiable: reject", async () => {
    const { receiver, seen } = observedReceiver({ unverifiable: "reject" });
    await receiver.receive(await delivery({ timestamp: NOW_SECONDS + 301 }));
    expect(seen).toMatchObject([{ outcome: "stale", status: 401 }]);
  });

  test("onAuthenticDelivery is called if the store fails", async () => {
    const { receiver, seen } = observedReceiver({ store: spiedStore({ claim: throws }).store });
    await receiver.receive(await delivery());
    expect(outcomesOf(seen)).toEqual(["store_unavailable"]);
  });

  test("onAuthenticDelivery is never called for a request that is not authentic", async () => {
    const { receiver, seen } = observedReceiver();
    const { headers, body } = await delivery();
    const changed = (change: Record<string, string | string[] | undefined>) => ({
      headers: { ...headers, ...change },
      body,
    });
    const answers = [
      await receiver.receive(await delivery({ secret: "whsec_another" })),
      await receiver.receive({ headers, body: `${String(body)} ` }),
      await receiver.receive(changed({ "x-webhook-signature": undefined })),
      await receiver.receive(changed({ "x-webhook-id": "another" })),
      await receiver.receive(changed({ "x-webhook-id": ["a", "b"] })),
      await receiver.receive({ ...changed({}), method: "PUT" }),
      await receiver.receive({ ...changed({}), method: "GET" }),
      await receiver.receive({ headers, body: "x".repeat(1_048_577) }),
    ];
    expect(answers.map(({ outcome }) => outcome)).toEqual([
      "signature_mismatch",
      "signature_mismatch",
      "unsigned",
      "signature_mismatch",
      "malformed",
      "method_not_allowed",
      "reachable",
      "body_too_large",
    ]);
    await receiver.drain();
    expect((await receiver.receive(await delivery())).outcome).toBe("draining");
    expect(seen).toEqual([]);
  });

  test("onAuthenticDelivery is never called if the secret is not available", async () => {
    const { receiver, seen } = observedReceiver({ secret: () => Promise.reject(new Error("no")) });
    expect((await receiver.receive(await delivery())).outcome).toBe("secret_unavailable");
    expect(seen).toEqual([]);
  });

  test("onAuthenticDelivery is called for every delivery with acceptUnsignedDeliveries", async () => {
    const { receiver, seen } = observedReceiver({
      secret: undefined,
      acceptUnsignedDeliveries: true,
    });
    const { headers, body } = await delivery();
    await receiver.receive({ headers: { ...headers, "x-webhook-signature": undefined }, body });
    expect(outcomesOf(seen)).toEqual(["handled"]);
  });

  test("onAuthenticDelivery receives the time of the answer as receivedAt", async () => {
    let nowMs = NOW_MS;
    const { receiver, seen } = observedReceiver({
      now: () => nowMs,
      handlers: {
        new_alarm: () => {
          nowMs += 7_000;
        },
      },
    });
    await receiver.receive(await delivery());
    expect(seen[0]?.receivedAt).toEqual(new Date(NOW_MS + 7_000));
  });

  test.each([
    ["throws", throws],
    ["rejects", () => Promise.reject(new Error("observer"))],
    ["never settles", () => never()],
  ])("an onAuthenticDelivery that %s changes no answer", async (_, onAuthenticDelivery) => {
    const { receiver } = observedReceiver({ onAuthenticDelivery });
    expect((await receiver.receive(await delivery())).outcome).toBe("handled");
    expect((await receiver.receive(await delivery())).outcome).toBe("duplicate");
    await receiver.drain();
  });

  test.each([null, "log", {}])("onAuthenticDelivery may not be %j", (value) => {
    const onAuthenticDelivery = value as unknown as () => void;
    expect(() => observedReceiver({ onAuthenticDelivery })).toThrow(/onAuthenticDelivery/);
  });
});
