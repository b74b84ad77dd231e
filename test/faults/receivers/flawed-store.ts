import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryStore } from "identity-gateway-webhooks";
import type { MaybePromise } from "../../../src/common/promises.js";
import type { Flaw } from "../plan/flawed-receivers.js";
import type { Redis } from "./redis-client.js";

export const HANDLES_ANYWAY = "handles while the store fails" satisfies Flaw;
const PATIENCE_MS = 500;
const PREFIX = "flawed:";

/** Scripts that take the time from their caller. The value of a key is "completed", or its owner and the end of its lease. */
const OWN_CLOCK = {
  claim: `local value = redis.call("GET", KEYS[1])
    if value == "completed" then return value end
    local ends = value and string.match(value, " (%d+)$")
    if ends and tonumber(ends) > tonumber(ARGV[2]) then return "in_flight" end
    redis.call("SET", KEYS[1], ARGV[1] .. " " .. ARGV[3])
    return value and "takeover" or "claimed"`,
  renew: `local value = redis.call("GET", KEYS[1])
    if not value or string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. " " then return 0 end
    redis.call("SET", KEYS[1], ARGV[1] .. " " .. ARGV[3])
    return 1`,
  release: `local value = redis.call("GET", KEYS[1])
    if value and string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. " " then redis.call("DEL", KEYS[1]) end`,
};

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
    case "judges leases by its own clock": {
      const call = (script: string, id: string, owner: string, endsAt = 0) =>
        client.eval(script, {
          keys: [PREFIX + id],
          arguments: [owner, String(Date.now()), String(endsAt)],
        });
      return {
        ...store,
        async claim(id, owner, { leaseMs }) {
          const result = await call(OWN_CLOCK.claim, id, owner, Date.now() + leaseMs);
          if (result === "completed") return { state: "completed" };
          return result === "in_flight"
            ? { state: "in_flight", retryAfterMs: leaseMs }
            : { state: "claimed", takeover: result === "takeover" };
        },
        async renew(id, owner, { leaseMs }) {
          return (await call(OWN_CLOCK.renew, id, owner, Date.now() + leaseMs)) === 1;
        },
        async complete(id, owner) {
          await call('redis.call("SET", KEYS[1], "completed")', id, owner);
        },
        async release(id, owner) {
          await call(OWN_CLOCK.release, id, owner);
        },
      };
    }
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

/** A store that lets a delivery be handled when it cannot be asked, and forgets a completion that fails. */
export function handlingAnyway(store: DeliveryStore): DeliveryStore {
  const inTime = async <T>(call: () => MaybePromise<T>, otherwise: T): Promise<T> => {
    const answer = Promise.resolve().then(call);
    answer.catch(() => undefined);
    return Promise.race([answer, wait(PATIENCE_MS, otherwise, { ref: false })]).catch(
      () => otherwise,
    );
  };
  return {
    claim: (...given) =>
      inTime(() => store.claim(...given), { state: "claimed", takeover: false } as const),
    renew: (...given) => inTime(() => store.renew(...given), true),
    complete: (...given) => inTime(() => store.complete(...given), undefined),
    release: (...given) => inTime(() => store.release(...given), undefined),
  };
}
