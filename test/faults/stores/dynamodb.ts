import { setTimeout as wait } from "node:timers/promises";
import { makeTable, openSdkClient } from "../../support/dynamodb/dynamodb-clients.js";
import { startDynalite } from "../../support/dynamodb/dynalite-server.js";
import type { StoreServer } from "./store-server.js";

const TABLE = "gateway_deliveries";

/** The run's own dynalite, with its data on disk. */
export async function openDynamodb(): Promise<StoreServer> {
  const server = await startDynalite();
  const client = await openSdkClient(server.url);
  await makeTable(client, TABLE);
  let isClosed = false;
  return {
    port: server.port,
    async restart(downMs) {
      await server.kill();
      await wait(downMs);
      if (!isClosed) await server.start();
    },
    lock: () => Promise.resolve(),
    lockRows: () => Promise.resolve(),
    mostConnections: () => undefined,
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
      isClosed = true;
      client.destroy();
      return server.close();
    },
  };
}
