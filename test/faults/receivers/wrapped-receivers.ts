import type { WebhookReceiver, WebhookRequest } from "identity-gateway-webhooks";

const BLOCKS = 3;
/** From the end of a block to the next. Milliseconds. */
const BETWEEN_BLOCKS_MS = 1_500;

/** A receiver that shares its store, but knows what it runs and what it has handled by the delivery id alone. */
export function onePerId(make: () => WebhookReceiver): WebhookReceiver {
  const receivers = new Map<unknown, WebhookReceiver>();
  return {
    ...make(),
    receive(request) {
      const id = idOf(request);
      const receiver = receivers.get(id) ?? make();
      receivers.set(id, receiver);
      return receiver.receive(request);
    },
  };
}

/**
 * A receiver that blocks its process for `ms` milliseconds, three times. Each time it goes on with a request for a
 * delivery that was in flight before, so that this request comes before the timers that renew leases.
 */
export function blockingAtTimes(receiver: WebhookReceiver, ms: number): WebhookReceiver {
  const inFlight = new Set<unknown>();
  let blocks = 0;
  let nextAt = performance.now() + BETWEEN_BLOCKS_MS;
  return {
    ...receiver,
    async receive(request) {
      const id = idOf(request);
      if (inFlight.delete(id) && blocks < BLOCKS && performance.now() >= nextAt) {
        blocks += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
        nextAt = performance.now() + BETWEEN_BLOCKS_MS;
      }
      const response = await receiver.receive(request);
      if (response.outcome === "in_flight") inFlight.add(id);
      return response;
    },
  };
}

/** The delivery id. `nodeHandler` passes the headers of Node, whose names are in lower case. */
function idOf({ headers }: WebhookRequest): unknown {
  return (headers as Readonly<Record<string, unknown>>)["x-webhook-id"];
}
