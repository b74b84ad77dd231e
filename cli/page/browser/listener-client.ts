import type { ListenedDelivery } from "../../../kit/listener/listened-delivery.js";

export type Delivery = ListenedDelivery;

/** How long to wait before the next try when the listener is away. Milliseconds. */
const RETRY_MS = 1_000;

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  // A browser never sends the fragment. A reload still has it.
  const authorization = `Bearer ${location.hash.slice(1)}`;
  return fetch(path, { ...init, headers: { authorization, "content-type": "application/json" } });
}

/** What the listener answers. `error`: why it is nothing else. */
interface Answer {
  readonly delivery?: Delivery;
  readonly fixture?: string;
  readonly error?: string;
}

async function answerTo(path: string, init?: RequestInit): Promise<Answer> {
  try {
    return (await (await call(path, init)).json()) as Answer;
  } catch {
    return { error: "The listener is away." };
  }
}

/** Sends something through the listener. Resolves to the delivery, or the reason why there is none. */
export function send(what: object): Promise<Answer> {
  return answerTo("send", { method: "POST", body: JSON.stringify(what) });
}

/** One delivery: `seq` with its body, or `fixture` as a redacted file. Without it if there is none. */
export function find(what: "seq" | "fixture", { seq }: Delivery): Promise<Answer> {
  return answerTo(`deliveries?${what}=${seq}`);
}

/** Calls `onDeliveries` for all deliveries, without their bodies, oldest first, those of now and later. Returns never. */
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
