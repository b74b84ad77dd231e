import { createWebhookReceiver } from "identity-gateway-webhooks";
import { SECRET, type Body } from "../deliveries.js";
import { createAsyncReceiverByHand } from "../handwritten/full.js";
import type { Case } from "../rounds.js";
import { gatewayDelivery, type GatewayDelivery } from "./contenders.js";

const IN_FLIGHT = 64;

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

/** The handler resolves at once, and each delivery waits for the one before it. */
function atOnce(name: string, body: Body, batch: number, make: (handle: Handle) => Receive): Case {
  let deliveries: GatewayDelivery[] = [];
  let receive: Receive;
  return {
    name,
    batch,
    prepare() {
      receive = make(() => Promise.resolve());
      deliveries = Array.from({ length: batch }, () => gatewayDelivery(body));
    },
    async run() {
      let good = 0;
      for (const delivery of deliveries) if (await receive(delivery)) good += 1;
      return good;
    },
  };
}

/** The handlers of 64 deliveries wait until all of them run. */
function inFlight(
  name: string,
  body: Body,
  batch: number,
  make: (handle: Handle) => Receive,
): Case {
  const groups = Math.ceil(batch / IN_FLIGHT);
  let deliveries: GatewayDelivery[][] = [];
  let opened = Promise.resolve();
  let receive: Receive;
  return {
    name,
    batch: groups * IN_FLIGHT,
    prepare() {
      receive = make(async () => opened);
      const group = () => Array.from({ length: IN_FLIGHT }, () => gatewayDelivery(body));
      deliveries = Array.from({ length: groups }, group);
    },
    async run() {
      let good = 0;
      for (const group of deliveries) {
        opened = new Promise((resolve) => setImmediate(resolve));
        const answers = await Promise.all(group.map(receive));
        good += answers.filter(Boolean).length;
      }
      return good;
    },
  };
}

/** Async handlers: ours beside the full hand-written receiver with the same handler. */
export function asyncCases(body: Body, batch: number): Case[] {
  return [
    atOnce("ours, async handler", body, batch, ours),
    atOnce("hand-written, async handler", body, batch, byHand),
    inFlight("ours, 64 in flight", body, batch, ours),
    inFlight("hand-written, 64 in flight", body, batch, byHand),
  ];
}
