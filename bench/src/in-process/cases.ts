import type { Case } from "../rounds.js";

/**
 * A case whose deliveries are signed anew for each batch, by the contender's own scheme. `forget` replaces a
 * receiver that remembers ids, so that each batch begins with an empty memory. The cost of a growing memory
 * would depend on the number of rounds; another part measures it.
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

/** A synchronous case. */
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

/** An asynchronous case. It awaits each promise before the next call. */
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
