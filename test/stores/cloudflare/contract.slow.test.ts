import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { missingMiniflare } from "../../support/cloudflare/miniflare.js";
import { startRemoteStores, type RemoteStores } from "../../support/cloudflare/remote-store.js";
import { describeService } from "../../support/describe-service.js";
import { moveUrl } from "../../support/two-webhooks.js";

/** Real time: the database's clock decides. */
const LEASE_MS = 1_000;

describeService("the DeliveryStore contract on workerd", missingMiniflare, () => {
  let stores: RemoteStores;
  let tables = 0;

  beforeAll(async () => {
    stores = await startRemoteStores();
  });
  afterAll(() => stores.stop());

  describe("d1Store in two isolates keeps the contract", () => {
    const makeStoreWith = (grouped?: "grouped") => async () => {
      tables += 1;
      const [store, otherClient] = await stores.onTable(`contract_${tables}`, grouped);
      return { store, otherClient };
    };
    const isLarge = ({ id }: { id: string }) => id === "keys-many";
    const cases = deliveryStoreContract(makeStoreWith(), { leaseMs: LEASE_MS, sequences: 200 });
    for (const { title, run } of cases.filter((one) => !isLarge(one))) it.concurrent(title, run);
    // The simulated D1 takes milliseconds for each of its 30 000 batches.
    const grouped = deliveryStoreContract(makeStoreWith("grouped"), { leaseMs: LEASE_MS });
    for (const { title, run } of grouped.filter(isLarge)) it(title, run);
  });

  it("while a URL moves, 1 000 alarms and 300 events are handled once each in two isolates", async () => {
    const { handled, acknowledged } = await moveUrl(await stores.onTable("moves"));
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });
});
