import type { Case } from "../rounds.js";

/** Making an empty memory takes ten times as long as a batch. */
const BATCHES_PER_MEMORY = 8;

/**
 * A case whose deliveries are signed anew for each batch, by the contender's own scheme. `forget` replaces a
 * receiver that remembers ids, so that its memory stays small. The cost of a growing memory
 * would depend on the number of rounds; another part measures it.
 */
export function caseOf<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receiveAll: (deliveries: readonly Delivery[]) => number | Promise<number>,
  forget?: () => void,
): Case {
  let batches = 0;
  let deliveries: readonly Delivery[] = [];
  return {
    name,
    batch,
    prepare() {
      if (batches % BATCHES_PER_MEMORY === 0) forget?.();
      batches += 1;
      deliveries = Array.from({ length: batch }, sign);
    },
    run: () => receiveAll(deliveries),
  };
}

/** A synchronous case. */
export function synchronous<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receive: (delivery: Delivery) => boolean,
): Case {
  return caseOf(name, batch, sign, (deliveries) => {
    let good = 0;
    for (const delivery of deliveries) if (receive(delivery)) good += 1;
    return good;
  });
}

/** An asynchronous case. It awaits each promise before the next call. */
export function asynchronous<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receive: (delivery: Delivery) => Promise<boolean>,
  forget?: () => void,
): Case {
  const receiveAll = async (deliveries: readonly Delivery[]): Promise<number> => {
    let good = 0;
    for (const delivery of deliveries) if (await receive(delivery)) good += 1;
    return good;
  };
  return caseOf(name, batch, sign, receiveAll, forget);
}
