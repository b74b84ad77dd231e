import { describe, expect, it } from "vitest";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { missingMiniflare } from "../../support/cloudflare/miniflare.js";
import { startRemoteStores } from "../../support/cloudflare/remote-store.js";
import { describeService } from "../../support/describe-service.js";
import { startedForAll } from "../../support/started-for-all.js";
import { testStoreInTime } from "../../support/stores/test-store.js";
import { moveUrl } from "../../support/two-webhooks.js";

describeService("the DeliveryStore contract on workerd", missingMiniflare, () => {
  const stores = startedForAll(async () => {
    const remote = await startRemoteStores();
    return { ...remote, close: remote.stop };
  });
  let tables = 0;

  describe("d1Store in two isolates keeps the contract", () => {
    const makeStoreWith = (grouped?: "grouped") => async () => {
      tables += 1;
      const [store, otherClient] = await stores().onTable(`contract_${tables}`, grouped);
      return { store, otherClient };
    };
    // Real time: the database's clock decides.
    const options = { leaseMs: 1_000, sequences: 200 };
    testStoreInTime(makeStoreWith(), { ...options, isShort: true });
    // The simulated D1 takes milliseconds for each of its 30 000 batches.
    const grouped = deliveryStoreContract(makeStoreWith("grouped"), options);
    it.each(grouped.filter(({ id }) => id === "keys-many"))("$title", async ({ run }) => {
      await run();
    });
  });

  it("while a URL moves, 1 000 alarms and 300 events are handled once each in two isolates", async () => {
    const { handled, acknowledged } = await moveUrl(await stores().onTable("moves"));
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });
});
