import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { StoreConnection } from "../../../src/stores/delivery-store.js";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import {
  makeTable,
  openSdkClient,
  type SdkClient,
  startDynalite,
  startDynamodbFront,
} from "../../support/dynamodb/dynamodb.js";
import { isInFull } from "../../support/extent.js";
import { startedForAll } from "../../support/started-for-all.js";
import { storeCases } from "../../support/stores/store-cases.js";
import { runCase } from "../../support/stores/test-store.js";

/** The default of `clockSkewMs`. */
const MARGIN_MS = 2_000;

/** A call to dynalite beside thousands of others may take longer than a receiver waits by default. */
const PATIENT: StoreConnection = {
  warn: () => undefined,
  noteForgets: () => undefined,
  dependencyTimeoutMs: 300_000,
};

const FIRST = "a server that returns no item with a failed condition";

// dynalite takes 13 ms a key, and ten times that on a busy machine: 10 000 keys are more than the time of other tests.
describe("the DynamoDB store keeps the DeliveryStore contract", { timeout: 1_800_000 }, () => {
  const server = startedForAll(() => startDynalite({ inMemory: true }));
  const front = startedForAll(() => startDynamodbFront(server().url));

  describe.each([
    [FIRST, server, 0],
    ["a server that returns the item with a failed condition", front, 0],
    ["hosts whose clocks differ by 1.8 s", server, 1_800],
  ])("on %s", (title, place, skewMs) => {
    let clients: [SdkClient, SdkClient];
    beforeAll(async () => {
      const { url } = place();
      clients = [await openSdkClient(url), await openSdkClient(url)];
    });
    afterAll(() => {
      for (const client of clients) client.destroy();
    });

    const makePlace = async () => {
      const [client, other] = clients;
      const table = `t-${randomUUID()}`;
      await makeTable(client, table);
      let ms = Date.now();
      const store = dynamoStore({ client, table, now: () => ms + skewMs / 2 });
      const otherClient = dynamoStore({ client: other, table, now: () => ms - skewMs / 2 });
      for (const one of [store, otherClient]) one.connectReceiver?.(PATIENT);
      return {
        store,
        otherClient,
        advance: (by: number) => {
          ms += by;
        },
        close: async () => {
          await (client as unknown as Deleting).deleteTable({ TableName: table });
        },
      };
    };
    const contract = deliveryStoreContract(makePlace, { marginMs: MARGIN_MS, sequences: 200 });
    // 35 000 requests, which take minutes: the other stores have the case in each run.
    const cases = contract.filter(({ id }) => id !== "keys-many" || (isInFull && title === FIRST));
    it.each([...cases, ...storeCases(makePlace, [])])("$title", runCase);
  });
});

interface Deleting {
  deleteTable(input: { TableName: string }): Promise<unknown>;
}
