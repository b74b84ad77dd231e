import { setTimeout as wait } from "node:timers/promises";
import {
  createWebhookReceiver,
  type DeliveryStore,
  type WebhookReceiver,
  type WebhookRequest,
} from "identity-gateway-webhooks";
import { HANDLES_ANYWAY, handlingAnyway } from "./flawed-store.js";
import { observe } from "./observe.js";
import { receiverTimes, type ReceiverConfig } from "./receiver-config.js";
import { returned, type MakeReceiver, type WorkContext } from "./work.js";

const BLOCKS = 3;
/** From the end of a block to the next. Milliseconds. */
const BETWEEN_BLOCKS_MS = 1_500;

/** A receiver that shares its store, but knows what it runs and what it has handled by the delivery id alone. */
function onePerId(make: () => WebhookReceiver): WebhookReceiver {
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
function blockingAtTimes(receiver: WebhookReceiver, ms: number): WebhookReceiver {
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

/** A store that refuses completions for `ms` milliseconds, takes them for as long, and so on. */
function refusingCompletions(store: DeliveryStore, ms: number): DeliveryStore {
  return {
    claim: (...given) => store.claim(...given),
    renew: (...given) => store.renew(...given),
    release: (...given) => store.release(...given),
    complete(...given) {
      if (performance.now() % (2 * ms) < ms) throw new Error("made up: the store refuses it");
      return store.complete(...given);
    },
  };
}

/** Receivers whose effects are outside their store. */
export function withLeases(open: (config: ReceiverConfig) => DeliveryStore): MakeReceiver {
  return (config, ledger, work) => {
    const handle = (_record: unknown, context: WorkContext) =>
      returned(work.handle(context), config.flaw);
    const { secret, secretMs, flaw, blocksMs, refusesCompletionsMs } = config;
    const opened = open(config);
    const store =
      refusesCompletionsMs === undefined
        ? opened
        : refusingCompletions(opened, refusesCompletionsMs);
    const make = () =>
      createWebhookReceiver({
        secret: secretMs === undefined ? secret : () => wait(secretMs, secret),
        handlers: { new_alarm: handle, delete_my_data_event: handle },
        store: flaw === HANDLES_ANYWAY ? handlingAnyway(store) : store,
        ...receiverTimes(config),
        ...observe(ledger),
      });
    const receiver = flaw === "knows its runs by the delivery id alone" ? onePerId(make) : make();
    return blocksMs === undefined ? receiver : blockingAtTimes(receiver, blocksMs);
  };
}
