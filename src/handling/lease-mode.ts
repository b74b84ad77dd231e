import type { Claim } from "./claim.js";
import { createClaims } from "./claims.js";
import { createContext, LazySignal } from "./delivery-context.js";
import type { MaybeLater } from "../common/promises.js";
import type { Delivery, Mode } from "./mode.js";
import { createPerform } from "./perform.js";
import type { Ending, Reporter } from "../answer/report.js";
import type { Run } from "./run-handler.js";
import type { Settings } from "../options/settings.js";
import type { DeliveryStore } from "../stores/delivery-store.js";

/** Claims a delivery, runs its handler while the lease is held, and settles the claim. */
export function createLeaseMode(
  store: DeliveryStore,
  settings: Settings,
  log: Reporter["log"],
): Mode {
  const claims = createClaims(store, settings, log);
  const perform = createPerform(claims, settings, log);

  const handleClaimed = (
    { headers, rawBody, trace }: Delivery,
    run: Run,
    claim: Claim,
  ): MaybeLater<Ending> => {
    switch (claim.state) {
      case "completed":
        return { outcome: "duplicate" };
      case "in_flight":
        return { outcome: "in_flight", retryAfterMs: claim.retryAfterMs };
      case "unavailable":
        return { outcome: "store_unavailable", error: claim.error, unfinished: claim.unfinished };
      case "claimed": {
        const { owner, takeover, leasedAt } = claim;
        const { id, type, timestampMs } = headers;
        if (takeover) trace.takeover = true;
        const timestamp = new Date(timestampMs);
        const signal = new LazySignal();
        const context = createContext(id, type, timestamp, rawBody, takeover, signal);
        return perform({ id, type, owner, leasedAt, run, signal, context });
      }
    }
  };

  return {
    handle(delivery, run) {
      const claim = claims.claim(delivery.headers.id);
      return "then" in claim
        ? claim.then((settled) => handleClaimed(delivery, run, settled))
        : handleClaimed(delivery, run, claim);
    },
    flush: claims.flush,
  };
}
