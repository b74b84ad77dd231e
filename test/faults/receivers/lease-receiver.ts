import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import type { Ledger } from "./ledger.js";
import { HANDLES_ANYWAY, handlingAnyway } from "./flawed-store.js";
import { observe } from "./observe.js";
import { openStore } from "./open-store.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { receiverTimes } from "./receiver-times.js";
import type { Work, WorkContext } from "./work.js";

/** A receiver whose effects are outside its store. */
export async function leaseReceiver(
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
): Promise<WebhookReceiver> {
  const handle = (_record: unknown, context: WorkContext): Promise<void> | undefined => {
    const handled = work.handle(context);
    if (config.flaw !== "answers before it handles") return handled;
    handled.catch(() => undefined);
    return undefined;
  };
  const { secret, secretMs, flaw } = config;
  const store = await openStore(config);
  return createWebhookReceiver({
    secret: secretMs === undefined ? secret : () => wait(secretMs, secret),
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    store: flaw === HANDLES_ANYWAY ? handlingAnyway(store) : store,
    ...receiverTimes(config),
    ...observe(ledger),
  });
}
