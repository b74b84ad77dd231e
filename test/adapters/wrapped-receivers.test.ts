import http from "node:http";
import { describe, expect, it } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { nodeHandler } from "../../adapters/node.js";
import {
  createWebhookReceiver,
  metricsText,
  type WebhookReceiver,
  type WebhookRequest,
} from "../../src/index.js";
import { recoverDelivery } from "../../src/management/index.js";
import { alarm, delivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";

/** Passes every call on, as a class that adds something to `receive` does. */
class Delegating implements WebhookReceiver {
  readonly #receiver: WebhookReceiver;

  constructor(receiver: WebhookReceiver) {
    this.#receiver = receiver;
  }

  get maxBodyBytes(): number {
    return this.#receiver.maxBodyBytes;
  }

  get internals(): object {
    return this.#receiver.internals ?? {};
  }

  receive = (request: WebhookRequest) => this.#receiver.receive(request);
  drain = () => this.#receiver.drain();
  health = () => this.#receiver.health();
}

const make = (): WebhookReceiver =>
  createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: () => undefined },
    logger: false,
    now: () => NOW_MS,
  });

describe.each<[string, (receiver: WebhookReceiver) => WebhookReceiver]>([
  ["a copy by spread", (receiver) => ({ ...receiver })],
  ["a Proxy", (receiver) => new Proxy(receiver, {})],
  ["a class that delegates", (receiver) => new Delegating(receiver)],
])("%s of a receiver", (_what, wrap) => {
  it("is served by metricsText and recoverDelivery", async () => {
    const wrapped = wrap(make());
    const lost = { id: "lost", type: "new_alarm", body: JSON.stringify({ alarm: alarm() }) };
    expect(await recoverDelivery(wrapped, lost)).toMatchObject({ outcome: "handled" });
    expect(metricsText(wrapped)).toContain("gateway_webhook_recovered_total 1");
  });

  it("closes connections while it drains", async () => {
    const wrapped = wrap(make());
    await wrapped.drain();
    const { method, headers, body } = await delivery();
    const request = new Request("http://localhost/", {
      method,
      headers: headers as Record<string, string>,
      body: body as string,
    });
    const answer = await fetchHandler(wrapped)(request);
    expect([answer.status, answer.headers.get("connection")]).toEqual([503, "close"]);
  });
});

describe("an object with receive alone", () => {
  const { receive } = make();
  const alone = { receive } as unknown as WebhookReceiver;

  it("is served by an adapter", async () => {
    const server = http.createServer(nodeHandler(alone)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const answer = await fetch(`http://127.0.0.1:${String(port)}/`, {
      method: "POST",
      headers: (await delivery({ id: "alone" })).headers as Record<string, string>,
      body: (await delivery({ id: "alone" })).body as string,
    });
    expect(await answer.json()).toEqual({ outcome: "handled" });
    server.close();
  });

  it("is refused by metricsText and recoverDelivery with the name of the member that it lacks", () => {
    const refusal =
      /made by createWebhookReceiver, or a wrapper that passes on its member internals/;
    expect(() => metricsText(alone)).toThrow(refusal);
    expect(() => recoverDelivery(alone, { id: "a", type: "new_alarm", body: "" })).toThrow(refusal);
  });
});
