import type { Case } from "../rounds.js";

/**
 * A case whose deliveries are signed anew for each batch, by the contender's own scheme. `forget` makes
 * a receiver that remembers ids anew, so that each batch begins with an empty memory: what a memory
 * costs as it grows is measured apart, and would depend here on the number of rounds.
 */
function caseOf<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receiveAll: (deliveries: readonly Delivery[]) => number | Promise<number>,
  forget?: () => void,
): Case {
  let deliveries: readonly Delivery[] = [];
  return {
    name,
    batch,
    prepare() {
      forget?.();
      deliveries = Array.from({ length: batch }, sign);
    },
    run: () => receiveAll(deliveries),
  };
}

/** A case of what answers at once. */
export function synchronous<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receive: (delivery: Delivery) => boolean,
  forget?: () => void,
): Case {
  const receiveAll = (deliveries: readonly Delivery[]): number => {
    let good = 0;
    for (const delivery of deliveries) if (receive(delivery)) good += 1;
    return good;
  };
  return caseOf(name, batch, sign, receiveAll, forget);
}

/** A case of what answers by a promise: each is awaited before the next. */
export function asynchronous<Delivery>(
  name: string,
  batch: number,
  sign: () => Delivery,
  receive: (delivery: Delivery) => Promise<unknown>,
  isGood: (answer: unknown) => boolean,
  forget?: () => void,
): Case {
  const receiveAll = async (deliveries: readonly Delivery[]): Promise<number> => {
    let good = 0;
    for (const delivery of deliveries) if (isGood(await receive(delivery))) good += 1;
    return good;
  };
  return caseOf(name, batch, sign, receiveAll, forget);
}
