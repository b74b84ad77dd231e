import { afterAll, beforeAll, describe, it } from "vitest";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import { missingMiniflare } from "../../support/cloudflare/miniflare.js";
import { startRemoteStores, type RemoteStores } from "../../support/cloudflare/remote-store.js";
import { describeService } from "../../support/describe-service.js";

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
    const makeStore = async () => {
      tables += 1;
      const [store, otherClient] = await stores.onTable(`contract_${tables}`);
      return { store, otherClient };
    };
    const cases = deliveryStoreContract(makeStore, { leaseMs: LEASE_MS });
    // This case keeps the processor busy for seconds, and the others would miss their deadlines.
    const isBusy = ({ id }: { id: string }) => id === "keys-many";
    for (const { title, run } of cases.filter((one) => !isBusy(one))) it.concurrent(title, run);
    // 20 000 calls, each about a millisecond of the simulated D1 on a machine without other work.
    for (const { title, run } of cases.filter(isBusy)) it(title, { timeout: 240_000 }, run);
  });
});
