import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { StoreConnection } from "../../../src/stores/delivery-store.js";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { startDynalite, type DynaliteServer } from "../../support/dynamodb/dynalite-server.js";
import {
  makeTable,
  openSdkClient,
  type SdkClient,
} from "../../support/dynamodb/dynamodb-clients.js";
import { startDynamodbFront, type DynamodbFront } from "../../support/dynamodb/dynamodb-front.js";

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
  let server: DynaliteServer;
  let front: DynamodbFront;
  const clients = new Map<string, readonly SdkClient[]>();

  beforeAll(async () => {
    server = await startDynalite({ inMemory: true });
    front = await startDynamodbFront(server.url);
    for (const [name, url] of Object.entries({ dynalite: server.url, front: front.url })) {
      clients.set(name, await Promise.all([openSdkClient(url), openSdkClient(url)]));
    }
  });
  afterAll(async () => {
    for (const client of [...clients.values()].flat()) client.destroy();
    await front.close();
    await server.close();
  });

  describe.each([
    [FIRST, "dynalite", 0],
    ["a server that returns the item with a failed condition", "front", 0],
    ["hosts whose clocks differ by 1.8 s", "dynalite", 1_800],
  ])("on %s", (title, place, skewMs) => {
    const contract = deliveryStoreContract(
      async () => {
        const [client, other] = clients.get(place) ?? [];
        if (client === undefined || other === undefined) throw new Error("no client is open");
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
      },
      { marginMs: MARGIN_MS, sequences: 200 },
    );
    // 35 000 requests, which take a minute: once is enough.
    const isSlow = ({ id }: { id: string }) => id === "keys-many";
    const cases = contract.filter((one) => !isSlow(one) || title === FIRST);
    it.each(cases)(`$id: $title (${title})`, async ({ run }) => {
      await run();
    });
  });
});

interface Deleting {
  deleteTable(input: { TableName: string }): Promise<unknown>;
}
