import { describe, expect, it } from "vitest";
import {
  type WebhookOutcome,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { send } from "../support/alarm-receiver.js";
import { NOW_SECONDS, delivery, eventDelivery } from "../support/deliveries.js";
import { rejects, throws } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { spiedStore } from "../support/spied-store.js";

function receiverOnSpy(options: Partial<WebhookReceiverOptions> = {}) {
  const spy = spiedStore();
  const handled: string[] = [];
  const handlers = {
    new_alarm: (_alarm: unknown, { id }: { readonly id: string }) => handled.push(id),
  };
  const { receiver } = recordingReceiver({ handlers, store: spy.store, ...options });
  return { receiver, spy, handled };
}

type Genuine = Awaited<ReturnType<typeof delivery>>;
type HeaderChanges = Readonly<Record<string, string | string[] | undefined>>;

const withHeaders = (request: Genuine, headers: HeaderChanges): WebhookRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

const changing = (headers: HeaderChanges) => (genuine: Genuine) => withHeaders(genuine, headers);
const replacing = (parts: Readonly<Record<string, unknown>>) => (genuine: Genuine) =>
  ({ ...genuine, ...parts }) as WebhookRequest;
const ZEROS = `v1=${"0".repeat(64)}`;

/** Requests that are refused, with their outcome. All carry the id of the genuine delivery. */
const REFUSED: readonly [
  string,
  WebhookOutcome,
  (genuine: Genuine) => Promise<WebhookRequest> | WebhookRequest,
][] = [
  ["another method", "method_not_allowed", replacing({ method: "PUT" })],
  ["a redirected delivery", "malformed", replacing({ method: "GET" })],
  ["a probe", "reachable", replacing({ headers: {}, method: "GET" })],
  ["a repeated id", "malformed", changing({ "X-WEBHOOK-ID": "other" })],
  ["no signature", "unsigned", changing({ "x-webhook-signature": undefined })],
  ["a signature of zeros", "signature_mismatch", changing({ "x-webhook-signature": ZEROS })],
  ["a wrong secret", "signature_mismatch", () => delivery({ secret: "not the secret" })],
  ["an old time, signed", "stale", () => delivery({ timestamp: NOW_SECONDS - 301 })],
  ["another type", "type_mismatch", () => delivery({ type: "delete_my_data_event" })],
  ["too long a body", "body_too_large", replacing({ body: "x".repeat(2_000_000) })],
  ["a stalled body", "body_timeout", replacing({ body: new UnreadableBody("body_timeout", 1) })],
  ["a parsed body", "body_consumed", replacing({ body: { alarm: {} } })],
  ["no JSON, signed", "unrecognized", () => delivery({ body: "no JSON" })],
  ["an event without a handler, signed", "unhandled", () => eventDelivery("DATA_DELETED")],
];

describe("refused requests", () => {
  it.each(REFUSED)(
    "%s (%s) never reaches the store and does not block the genuine delivery",
    async (_why, outcome, forge) => {
      const { receiver, spy, handled } = receiverOnSpy();
      const genuine = await delivery();
      const forged = await forge(genuine);
      for (let attempt = 0; attempt < 3; attempt++) {
        expect((await receiver.receive(forged)).outcome).toBe(outcome);
      }
      expect([spy.calls, handled]).toEqual([[], []]);
      expect(await send(receiver, genuine)).toBe("200 handled");
      await receiver.receive(forged);
      expect(await send(receiver, genuine)).toBe("200 duplicate");
      expect(handled).toEqual([genuine.headers["x-webhook-id"]]);
    },
  );

  it.each<[string, string, Partial<WebhookReceiverOptions>]>([
    ["the secret function rejects", "503 secret_unavailable", { secret: rejects }],
    ["the clock fails", "500 internal_error", { now: throws }],
  ])("a request refused because %s never reaches the store", async (_why, answer, options) => {
    const { receiver, spy } = receiverOnSpy(options);
    expect(await send(receiver)).toBe(answer);
    expect(spy.calls).toEqual([]);
  });
});

describe("the store", () => {
  it("the store receives the signed id as its key and nothing else from the request", async () => {
    const { receiver, spy } = receiverOnSpy();
    await receiver.receive(await delivery({ id: "signed-id" }));
    expect(spy.calls.map(({ method, key }) => [method, key])).toEqual([
      ["claim", "signed-id"],
      ["complete", "signed-id"],
    ]);
    for (const { owner } of spy.calls) expect(owner).toMatch(/^[0-9a-f-]{36}-\d+$/);
  });

  it("the store receives a new owner with each claim and another prefix from each receiver", async () => {
    const owners: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { receiver, spy } = receiverOnSpy();
      for (const id of ["one", "two", "three"]) await receiver.receive(await delivery({ id }));
      owners.push(...spy.calls.filter(({ method }) => method === "claim").map((c) => c.owner));
    }
    expect(new Set(owners).size).toBe(9);
  });
});
