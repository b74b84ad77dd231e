import type { DeliveryContext } from "../../../src/index.js";
import { heldHandler } from "../alarm-receiver.js";
import { createCollector } from "../collector.js";
import { createDatabase, type DatabaseFaults, type SimulatedTx } from "./transactional-database.js";
import { transactionalReceiver, type TransactionalOptions } from "./transactional-receiver.js";

/** The context of handlers on the simulated database. */
export type SimulatedContext = DeliveryContext<SimulatedTx>;

/** A handler that writes the id of its delivery. */
export function writesId({ id, tx }: SimulatedContext): void {
  tx.write(id);
}

/** Makes a receiver on a database of its own and collects its reports and log lines. */
export function transactionalScene(
  handler: (context: SimulatedContext) => unknown,
  faults: DatabaseFaults = {},
  options: TransactionalOptions = {},
) {
  const database = createDatabase(faults);
  const { options: reporting, reports, lines } = createCollector();
  const receiver = transactionalReceiver(database.store, handler, { ...reporting, ...options });
  return { ...database, receiver, reports, lines };
}

/** The same, with a handler that writes its id and then runs until the test ends it. */
export function heldTransactionalScene(faults: DatabaseFaults = {}) {
  const { handler, start, runs } = heldHandler();
  const held = (context: SimulatedContext) => {
    writesId(context);
    return handler(context);
  };
  const times = { handlerTimeoutMs: 2_000, dependencyTimeoutMs: 500 };
  return { ...transactionalScene(held, faults, times), start, runs };
}
