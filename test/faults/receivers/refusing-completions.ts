import type { DeliveryStore } from "identity-gateway-webhooks";

/** A store that refuses completions for `ms` milliseconds, takes them for as long, and so on. */
export function refusingCompletions(store: DeliveryStore, ms: number): DeliveryStore {
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
