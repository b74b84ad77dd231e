import { createWebhookReceiver } from "identity-gateway-webhooks";
import { SECRET, type Body } from "../deliveries.js";
import { createAsyncReceiverByHand } from "../handwritten/full.js";
import type { Case } from "../rounds.js";
import { gatewayDelivery, type GatewayDelivery } from "./contenders.js";

/**
 * Deliveries per batch. Promises leave much to collect: in batches of 500, a garbage collection takes as long as half a
 * batch and falls into every second one, and the ratio says only into which. Of such small batches few have one.
 */
export const ASYNC_BATCH = 64;
/** Making an empty memory takes ten times as long as a batch. */
const BATCHES_PER_MEMORY = 8;

/** Receives one delivery. Resolves to whether it was handled. */
type Receive = (delivery: GatewayDelivery) => Promise<boolean>;
type Handle = (record: unknown) => Promise<void>;

function ours(handle: Handle): Receive {
  const handlers = { new_alarm: handle, delete_my_data_event: handle };
  const receiver = createWebhookReceiver({ secret: SECRET, handlers });
  return async (delivery) => (await receiver.receive(delivery)).outcome === "handled";
}

function byHand(handle: Handle): Receive {
  const receive = createAsyncReceiverByHand(SECRET, handle);
  return async ({ headers, body }) => (await receive(headers, body)) === "handled";
}

/** A case whose batch is 64 deliveries: one group in flight, or so many one after the other. */
function caseOf(
  name: string,
  body: Body,
  make: (handle: Handle) => Receive,
  handle: Handle,
  receiveAll: (receive: Receive, deliveries: readonly GatewayDelivery[]) => Promise<number>,
): Case {
  let batches = 0;
  let receive: Receive;
  let deliveries: readonly GatewayDelivery[] = [];
  return {
    name,
    batch: ASYNC_BATCH,
    prepare() {
      if (batches % BATCHES_PER_MEMORY === 0) receive = make(handle);
      batches += 1;
      deliveries = Array.from({ length: ASYNC_BATCH }, () => gatewayDelivery(body));
    },
    run: () => receiveAll(receive, deliveries),
  };
}

/** The handler resolves at once, and each delivery waits for the one before it. */
function atOnce(name: string, body: Body, make: (handle: Handle) => Receive): Case {
  const handle = (): Promise<void> => Promise.resolve();
  return caseOf(name, body, make, handle, async (receive, deliveries) => {
    let good = 0;
    for (const delivery of deliveries) if (await receive(delivery)) good += 1;
    return good;
  });
}

/** The handlers of all 64 deliveries wait until all of them run. */
function inFlight(name: string, body: Body, make: (handle: Handle) => Receive): Case {
  let opened = Promise.resolve();
  const handle = async (): Promise<void> => opened;
  return caseOf(name, body, make, handle, async (receive, deliveries) => {
    opened = new Promise((resolve) => setImmediate(resolve));
    const answers = await Promise.all(deliveries.map(receive));
    return answers.filter(Boolean).length;
  });
}

/** Async handlers: ours beside the full hand-written receiver with the same handler. */
export function asyncCases(body: Body): Case[] {
  return [
    atOnce("ours, async handler", body, ours),
    atOnce("hand-written, async handler", body, byHand),
    inFlight("ours, 64 in flight", body, ours),
    inFlight("hand-written, 64 in flight", body, byHand),
  ];
}
