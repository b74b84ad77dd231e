import type { ListenedDelivery } from "../../../kit/listener/listened-delivery.js";

export type Delivery = ListenedDelivery;

/** How long to wait before the next try when the listener is away. Milliseconds. */
const RETRY_MS = 1_000;

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  // A browser never sends the fragment. A reload still has it.
  const headers = { authorization: `Bearer ${location.hash.slice(1)}` };
  return fetch(path, { ...init, headers });
}

/** Sends something through the listener. Resolves to the delivery, or the reason why there is none. */
export async function send(what: object): Promise<{ delivery?: Delivery; error?: string }> {
  const answer = await call("send", { method: "POST", body: JSON.stringify(what) });
  return (await answer.json()) as { delivery?: Delivery; error?: string };
}

/** The delivery as a redacted fixture file. Undefined if it cannot be one. */
export async function fixtureOf({ seq }: Delivery): Promise<string | undefined> {
  const { fixture } = (await (await call(`deliveries?fixture=${seq}`)).json()) as {
    fixture?: string;
  };
  return fixture;
}

/** Calls `onDeliveries` for all deliveries, oldest first, those of now and later. Returns never. */
export async function follow(
  onDeliveries: (deliveries: readonly Delivery[], last: number) => void,
  onState: (state: string) => void,
): Promise<void> {
  let after = 0;
  for (;;) {
    try {
      const answer = await call(`deliveries?after=${after}&wait=30s`);
      if (answer.status === 401) {
        onState("The token in the address is wrong: open the address that listen printed.");
        return;
      }
      const { deliveries, last } = (await answer.json()) as {
        deliveries: readonly Delivery[];
        last: number;
      };
      after = deliveries.at(-1)?.seq ?? after;
      onDeliveries(deliveries, last);
    } catch {
      onState("The listener is away. Trying again …");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
