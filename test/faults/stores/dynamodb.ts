import { makeTable, openSdkClient, startDynalite } from "../../support/dynamodb/dynamodb.js";
import { crashingStore, type StoreServer } from "./store-server.js";

const TABLE = "gateway_deliveries";

/** The run's own dynalite, with its data on disk. */
export async function openDynamodb(): Promise<StoreServer> {
  const server = await startDynalite();
  const client = await openSdkClient(server.url);
  await makeTable(client, TABLE);
  return crashingStore(server, server.kill, {
    async read() {
      const storedIds: string[] = [];
      let from: Record<string, unknown> | undefined;
      do {
        const page = await client.scan({ TableName: TABLE, ExclusiveStartKey: from });
        for (const { id } of page.Items ?? []) {
          const { S: key } = id as { S: string };
          storedIds.push(key.slice(key.indexOf(":") + 1));
        }
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      return { storedIds };
    },
    close() {
      client.destroy();
      return server.close();
    },
  });
}
