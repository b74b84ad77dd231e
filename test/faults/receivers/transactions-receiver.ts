import { setTimeout as wait } from "node:timers/promises";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type TransactionalStore,
  type WebhookReceiver,
} from "identity-gateway-webhooks";
import { observe } from "./observe.js";
import {
  receiverTimes,
  EFFECTS_TABLE,
  PAIRS_TABLE,
  type ReceiverConfig,
} from "./receiver-config.js";
import { returned, type MakeReceiver } from "./work.js";

const HELD_MS = 5;

/** Locks a pair of rows, half of the handlers in the opposite order. Half of them go on after a deadlock. */
async function lockPair(id: string, query: (sql: string) => Promise<unknown>): Promise<void> {
  const [pair = "", last = ""] = id.slice(-2);
  const digit = Number.parseInt(last, 16);
  const lock = (name: string) =>
    query(`UPDATE ${PAIRS_TABLE} SET count = count + 1 WHERE name = '${pair}${name}'`);
  const [first, second] = digit % 2 === 0 ? ["a", "b"] : ["b", "a"];
  try {
    await lock(first);
    await wait(HELD_MS);
    await lock(second);
  } catch (error) {
    if (digit < 8) throw error;
  }
}

/** Runs a statement in the transaction of a handler. */
type Query<Tx> = (context: DeliveryContext<Tx>, sql: string) => Promise<unknown>;
type ReceiverOn = <Tx>(store: TransactionalStore<Tx>, query: Query<Tx>) => WebhookReceiver;

/** Receivers whose effects are rows that they write through `context.tx`. */
export function withTransactions(
  open: (config: ReceiverConfig, receiverOn: ReceiverOn) => WebhookReceiver,
): MakeReceiver {
  return (config, ledger, work) =>
    open(config, <Tx>(store: TransactionalStore<Tx>, query: Query<Tx>) => {
      const handle = (_record: unknown, context: DeliveryContext<Tx>) => {
        const handled = work.handle(context, async () => {
          await query(context, `INSERT INTO ${EFFECTS_TABLE} (id) VALUES ('${context.id}')`);
          if (config.locksPairs === true) await lockPair(context.id, (sql) => query(context, sql));
        });
        return returned(handled, config.flaw);
      };
      return createWebhookReceiver<Tx>({
        secret: config.secret,
        handlers: { new_alarm: handle, delete_my_data_event: handle },
        store,
        ...receiverTimes(config),
        ...observe(ledger),
      });
    });
}
