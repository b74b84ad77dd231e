// Compiled, never run: `context.tx` exists exactly when the store is transactional. Each
// `@ts-expect-error` fails the compilation where the wrong use would pass.
import {
  createWebhookReceiver,
  memoryStore,
  type Alarm,
  type DeliveryContext,
  type DeliveryStore,
  type WebhookHandler,
  type WebhookHandlers,
  type OnlineDataEvent,
  type OnlineDataEventHandlers,
  type ProcessResult,
  type TransactionalStore,
  type UnrecognizedDelivery,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from "identity-gateway-webhooks";
import { type Equal, type IsAny, type Members, proves } from "./proofs.js";

/** Of each type in a union: the options with a secret, and those without one. */
type MembersOfEach<T> = T extends unknown ? Members<T> : never;

interface Client {
  query(text: string): Promise<void>;
}
declare const store: TransactionalStore<Client>;
declare const secret: string;

// Inferred from the store wherever it stands, in every kind of handler, without a type of the caller's.
const receiver = createWebhookReceiver({
  secret,
  handlers: {
    new_alarm: async (alarm, { tx }) => {
      proves<Equal<typeof tx, Client>>();
      await tx.query(alarm.text);
    },
    delete_my_data_event: {
      DATA_DELETED: (_event, { tx }) => proves<Equal<typeof tx, Client>>(),
      async "*"(event, context) {
        proves<Equal<typeof context.tx, Client>>();
        await context.tx.query(event.type);
      },
    },
    unrecognized({ issues }, { tx }) {
      proves<Equal<typeof issues, UnrecognizedDelivery["issues"]>>();
      proves<Equal<typeof tx, Client>>();
    },
  },
  store,
});
proves<Equal<typeof receiver, WebhookReceiver>>();

createWebhookReceiver({
  acceptUnsignedDeliveries: true,
  store,
  handlers: {
    delete_my_data_event: (event, { tx }) => {
      proves<Equal<typeof event, OnlineDataEvent>>();
      proves<Equal<typeof tx, Client>>();
    },
  },
});

// A store of the partner's own.
createWebhookReceiver({
  secret,
  store: {
    async process(_key: string, work: (tx: Set<string>) => Promise<void>): Promise<ProcessResult> {
      await work(new Set());
      return { state: "processed" };
    },
  },
  handlers: { new_alarm: (_alarm, { tx }) => proves<Equal<typeof tx, Set<string>>>() },
});

// What such a store knows of a delivery it may tell, and nothing else.
const telling: TransactionalStore<string> = {
  async process(_key, work) {
    await work("tx", { takeover: true });
    // @ts-expect-error takeover is a boolean.
    await work("tx", { takeover: "no" });
    return { state: "processed" };
  },
};
createWebhookReceiver({ secret, store: telling, handlers: {} });

// Without a transactional store there is none.
createWebhookReceiver({
  secret,
  handlers: {
    // @ts-expect-error: the default store has no transactions
    new_alarm: (_alarm, { tx: _tx }) => undefined,
    delete_my_data_event: {
      // @ts-expect-error: nor for events
      DATA_DELETED: (_event, { tx: _tx }) => undefined,
    },
    // @ts-expect-error: nor for what is not recognized
    unrecognized: (_delivery, { tx: _tx }) => undefined,
  },
});
createWebhookReceiver({
  secret,
  store: memoryStore(),
  // @ts-expect-error: a DeliveryStore has no transactions
  handlers: { new_alarm: (_alarm, { tx: _tx }) => undefined },
});

// Handlers that are written elsewhere, with and without a use for the transaction.
const plain: WebhookHandlers = { new_alarm: (alarm, { id }) => alarm.text + id };
const plainAlarm: WebhookHandler<Alarm> = (alarm, { id }) => alarm.text + id;
const plainEvents: OnlineDataEventHandlers = { DATA_DELETED: (event) => event.site_id };
const writing: WebhookHandlers<DeliveryContext<Client>> = {
  new_alarm: (alarm, { tx }) => tx.query(alarm.text),
};
createWebhookReceiver({ secret, store, handlers: plain });
createWebhookReceiver({ secret, store, handlers: { new_alarm: plainAlarm } });
createWebhookReceiver({ secret, store, handlers: { delete_my_data_event: plainEvents } });
createWebhookReceiver({ secret, handlers: writing, store });
// @ts-expect-error: handlers that write through a transaction need a store that has them
createWebhookReceiver({ secret, handlers: writing });
// @ts-expect-error: the same with a store that has none
createWebhookReceiver({ secret, store: memoryStore(), handlers: writing });
// @ts-expect-error: also where the caller claims it
createWebhookReceiver<Client>({ secret, store: memoryStore(), handlers: writing });
// @ts-expect-error: or leaves the store out
createWebhookReceiver<Client>({ secret, handlers: writing });
createWebhookReceiver({
  secret,
  store,
  // @ts-expect-error: another transaction than the store's
  handlers: { new_alarm: (_alarm: Alarm, { tx }: DeliveryContext<string>) => tx },
});
declare const either: DeliveryStore | TransactionalStore<Client>;
// @ts-expect-error: whether there is a transaction must be known
createWebhookReceiver({ secret, store: either, handlers: {} });
createWebhookReceiver({
  secret,
  store: {
    // @ts-expect-error: a state that is none
    process: (_key: string, work: (tx: Client) => Promise<void>) =>
      Promise.resolve({ state: work }),
  },
  handlers: { new_alarm: () => undefined },
});

// The types compile without an argument, as they did before there were transactions.
interface OwnContext extends DeliveryContext {
  readonly account: number;
}
proves<Equal<OwnContext["signal"], AbortSignal>>();
const options: WebhookReceiverOptions = { secret, store: memoryStore(), handlers: plain };
const some: Partial<Omit<WebhookReceiverOptions, "secret" | "acceptUnsignedDeliveries">> = {
  store: memoryStore(),
};
createWebhookReceiver(options);
createWebhookReceiver({ secret, handlers: plain, ...some });
// @ts-expect-error: options without an argument are of a DeliveryStore
options.store = store;

// With one they hold for code that does not know the transaction.
function receiverOn<Tx>(
  given: TransactionalStore<Tx>,
  handlers: WebhookHandlers<DeliveryContext<Tx>>,
): WebhookReceiver {
  return createWebhookReceiver<Tx>({ secret, store: given, handlers });
}
receiverOn(store, writing);
const transactional: WebhookReceiverOptions<Client> = { secret, store, handlers: writing };
createWebhookReceiver(transactional);

// Nothing public is `any`.
proves<Equal<Members<DeliveryContext<Client>>, false>>();
proves<Equal<Members<TransactionalStore<Client>>, false>>();
proves<Equal<MembersOfEach<WebhookReceiverOptions<Client>>, false>>();
proves<Equal<Members<WebhookHandlers<DeliveryContext<Client>>>, false>>();
proves<Equal<IsAny<ProcessResult>, false>>();
proves<Equal<keyof DeliveryContext<Client>, keyof DeliveryContext | "tx">>();
