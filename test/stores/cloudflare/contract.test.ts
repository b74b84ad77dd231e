import { afterAll, beforeAll, it } from "vitest";
import { d1Schema, d1Store } from "../../../src/stores/cloudflare/index.js";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import { missingMiniflare, startD1, type TestD1 } from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";

/** Real time: the database's clock decides. */
const LEASE_MS = 1_000;

describeService("d1Store keeps the contract of DeliveryStore on workerd", missingMiniflare, () => {
  let database: TestD1;
  let stop: () => Promise<void>;
  let tables = 0;

  beforeAll(async () => {
    ({ database, stop } = await startD1());
  });
  afterAll(() => stop());

  const makeStore = async () => {
    tables += 1;
    const table = `contract_${tables}`;
    await database.prepare(d1Schema(table)).run();
    return { store: d1Store({ database, table }), otherClient: d1Store({ database, table }) };
  };
  for (const { title, run } of deliveryStoreContract(makeStore, { leaseMs: LEASE_MS })) {
    it(title, run);
  }
});
