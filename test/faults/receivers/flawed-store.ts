import type { DeliveryStore } from "identity-gateway-webhooks";
import type { Flaw } from "../plan/flawed-receivers.js";
import type { Redis } from "./redis-client.js";

const PREFIX = "flawed:";

/** The store with the flaw, or `store` itself if the flaw is not in the store. */
export function flawedStore(flaw: Flaw, store: DeliveryStore, client: Redis): DeliveryStore {
  const noLease = {
    renew: () => true,
    complete: () => undefined,
    release: () => undefined,
  };
  switch (flaw) {
    case "claims for good before it handles":
      return {
        ...noLease,
        async claim(id) {
          const isFirst = (await client.set(PREFIX + id, "1", { condition: "NX" })) !== null;
          return isFirst ? { state: "claimed", takeover: false } : { state: "completed" };
        },
      };
    case "marks after it has handled":
      return {
        ...noLease,
        async claim(id) {
          const isMarked = (await client.exists(PREFIX + id)) > 0;
          return isMarked ? { state: "completed" } : { state: "claimed", takeover: false };
        },
        async complete(id) {
          await client.set(PREFIX + id, "1");
        },
      };
    case "answers 200 to a delivery in flight":
      return {
        ...store,
        async claim(id, owner, times) {
          const claim = await store.claim(id, owner, times);
          return claim.state === "in_flight" ? { state: "completed" } : claim;
        },
      };
    default:
      return store;
  }
}
