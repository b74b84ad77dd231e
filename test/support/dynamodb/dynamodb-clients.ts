import type {
  DynamoTableClient,
  DynamoClient,
} from "../../../src/stores/dynamodb/dynamo-client.js";
import { installPlatform, loadFrom } from "../platform-packages.js";

/** A `DynamoDB` of the AWS SDK. */
export type SdkClient = DynamoClient &
  DynamoTableClient & {
    destroy(): void;
    scan(input: {
      TableName: string;
      ExclusiveStartKey?: Record<string, unknown> | undefined;
    }): Promise<{ Items?: Record<string, unknown>[]; LastEvaluatedKey?: Record<string, unknown> }>;
  };

type SdkClass = new (config: Record<string, unknown>) => SdkClient;

/** The classes of the AWS SDK, from `test/platforms/dynamodb`. */
export async function loadSdk() {
  const root = await installPlatform("dynamodb");
  const client = loadFrom(root, "@aws-sdk/client-dynamodb") as {
    DynamoDB: SdkClass;
    DynamoDBClient: SdkClass;
  };
  const document = loadFrom(root, "@aws-sdk/lib-dynamodb") as {
    DynamoDBDocument: { from(client: SdkClient): unknown };
    DynamoDBDocumentClient: { from(client: SdkClient): unknown };
  };
  return { ...client, ...document };
}

/** The config of a client for a server of this machine. */
export function sdkConfig(endpoint: string) {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return { endpoint, region: "eu-central-1", credentials };
}

/** A client with the SDK's defaults. */
export async function openSdkClient(endpoint: string): Promise<SdkClient> {
  const { DynamoDB } = await loadSdk();
  return new DynamoDB(sdkConfig(endpoint));
}

/** The settings of a table for `createTable` of the SDK: dynalite has no TTL. */
export function tableInput(table: string): Parameters<DynamoTableClient["createTable"]>[0] {
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  };
}

/** Creates a table on dynalite and waits until it is active. */
export async function makeTable(client: SdkClient, table: string): Promise<void> {
  await client.createTable(tableInput(table));
  for (;;) {
    const { Table } = await client.describeTable({ TableName: table });
    if (Table?.TableStatus === "ACTIVE") return;
  }
}
