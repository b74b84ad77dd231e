import { describe, expect, it } from "vitest";
import { missingMiniflare } from "../../support/cloudflare/miniflare.js";
import { startRemoteStores } from "../../support/cloudflare/remote-store.js";
import { describeService } from "../../support/describe-service.js";
import { startedForAll } from "../../support/started-for-all.js";
import { testStoreInTime } from "../../support/stores/test-store.js";
import { moveUrl } from "../../support/two-webhooks.js";

describeService("the DeliveryStore contract on workerd", missingMiniflare, () => {
  const stores = startedForAll(startRemoteStores);
  let tables = 0;

  describe("d1Store in two isolates keeps the contract", () => {
    const makeStore = async () => {
      tables += 1;
      const [store, otherClient] = await stores().onTable(`contract_${tables}`);
      return { store, otherClient };
    };
    // Real time: the database's clock decides.
    testStoreInTime(makeStore, { leaseMs: 1_000, sequences: 200, isShort: true });
  });

  it("while a URL moves, 1 000 alarms and 300 events are handled once each in two isolates", async () => {
    const { handled, acknowledged } = await moveUrl(await stores().onTable("moves"));
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });
});
