import { describe, expect, it, vi } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import {
  memoryStore,
  metricsText,
  type DeliveryStore,
  type WebhookReceiver,
  type WebhookRequest,
} from "../../src/index.js";
import type { StoreConnection } from "../../src/stores/delivery-store.js";
import { delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A receiver of a user that passes on its members. */
class DelegatingReceiver implements Required<
  Pick<WebhookReceiver, "receive" | "drain" | "health" | "maxBodyBytes">
> {
  readonly #inner: WebhookReceiver;

  constructor(inner: WebhookReceiver) {
    this.#inner = inner;
  }

  get maxBodyBytes() {
    return this.#inner.maxBodyBytes;
  }

  get internal() {
    return this.#inner.internal;
  }

  receive = (request: WebhookRequest) => this.#inner.receive(request);
  drain = () => this.#inner.drain();
  health = () => this.#inner.health();
}

/** A store of a user that passes on its calls. */
class DelegatingStore implements DeliveryStore {
  readonly #inner: DeliveryStore;

  constructor(inner: DeliveryStore) {
    this.#inner = inner;
  }

  claim: DeliveryStore["claim"] = (...call) => this.#inner.claim(...call);
  renew: DeliveryStore["renew"] = (...call) => this.#inner.renew(...call);
  complete: DeliveryStore["complete"] = (...call) => this.#inner.complete(...call);
  release: DeliveryStore["release"] = (...call) => this.#inner.release(...call);
  connectReceiver = (receiver: StoreConnection) => this.#inner.connectReceiver?.(receiver);
}

const receiverOn = (store: DeliveryStore) => recordingReceiver({ store });

async function requestOf(): Promise<Request> {
  return new Request("https://receiver.test/", {
    method: "POST",
    ...((await delivery()) as RequestInit),
  });
}

const receivers: [string, (inner: WebhookReceiver) => WebhookReceiver][] = [
  ["a spread", (inner) => ({ ...inner })],
  ["a Proxy", (inner) => new Proxy(inner, {})],
  ["a class that delegates", (inner) => new DelegatingReceiver(inner)],
];

describe.each(receivers)("a receiver that is wrapped by %s", (_name, wrap) => {
  it("has metrics, and closes connections while it drains", async () => {
    const receiver = wrap(receiverOn(memoryStore()).receiver);
    const handle = fetchHandler(receiver);
    expect((await handle(await requestOf())).headers.get("connection")).toBeNull();
    expect(metricsText(receiver)).toContain('outcome="handled",type="new_alarm"} 1');
    await receiver.drain();
    const refused = await handle(await requestOf());
    expect(refused.status).toBe(503);
    expect(refused.headers.get("connection")).toBe("close");
  });
});

describe("an object with receive alone", () => {
  const { receive } = receiverOn(memoryStore()).receiver;

  it("is served by an adapter", async () => {
    const handle = fetchHandler({ receive });
    expect((await handle(await requestOf())).status).toBe(200);
  });

  it("is refused by metricsText with a sentence that names the member", () => {
    expect(() => metricsText({ receive })).toThrow(/must pass on its member internal$/u);
  });
});

const stores: [string, (inner: DeliveryStore) => DeliveryStore][] = [
  ["a spread", (inner) => ({ ...inner })],
  ["a Proxy", (inner) => new Proxy(inner, {})],
  ["a class that delegates", (inner) => new DelegatingStore(inner)],
];

describe.each(stores)("a store that is wrapped by %s", (_name, wrap) => {
  it("still tells its receiver that it forgets ids", async () => {
    const { receive, lines } = receiverOn(wrap(memoryStore({ maxEntries: 2 })));
    for (const id of ["a", "b", "c"]) await receive(await delivery({ id }));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.level).toBe("warn");
    expect(lines[0]?.message).toContain("maxEntries (2): a duplicate of such");
  });

  it("still learns the receiver's time limit", () => {
    const connectReceiver = vi.fn<(receiver: StoreConnection) => void>();
    const store = wrap({ ...memoryStore(), connectReceiver });
    recordingReceiver({ store, dependencyTimeoutMs: 1_234 });
    expect(connectReceiver.mock.calls[0]?.[0].dependencyTimeoutMs).toBe(1_234);
  });
});
