import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import { HANDLES_ANYWAY, handlingAnyway } from "./flawed-store.js";
import { observe } from "./observe.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { refusingCompletions } from "./refusing-completions.js";
import { receiverTimes } from "./receiver-times.js";
import type { MakeReceiver, WorkContext } from "./work.js";
import { blockingAtTimes, onePerId } from "./wrapped-receivers.js";

/** Receivers whose effects are outside their store. */
export function withLeases(open: (config: ReceiverConfig) => DeliveryStore): MakeReceiver {
  return (config, ledger, work) => {
    const handle = (_record: unknown, context: WorkContext): Promise<void> | undefined => {
      const handled = work.handle(context);
      if (config.flaw !== "answers before it handles") return handled;
      handled.catch(() => undefined);
      return undefined;
    };
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
