import { invalidOption } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import { DeadlineError, pause } from "../../common/timers.js";
import { KEY_ATTRIBUTE, TTL_ATTRIBUTE } from "./delivery-item.js";
import { checkDynamoClient, tableName, type DynamoTableClient } from "./dynamo-client.js";

/** Options of `createDynamoTable`. */
export interface CreateTableOptions {
  /** A `DynamoDB` of `@aws-sdk/client-dynamodb` 3: `new DynamoDB(config)`. */
  readonly client: DynamoTableClient;
  /** As in `dynamoStore`. Default `"gateway_deliveries"`. */
  readonly table?: string | undefined;
}

const ACTIVE_WITHIN_MS = 120_000;
const POLL_MS = 500;

/**
 * Creates the table of `dynamoStore` if it is missing: on-demand billing, partition key `id` (S), TTL on
 * `expiresAt`. Resolves when the table is active. Calling it again, also from several processes at once,
 * changes nothing. A server without TTL, such as dynalite, is left without. It needs the rights `dynamodb:CreateTable`, `DescribeTable`, `DescribeTimeToLive` and
 * `UpdateTimeToLive`; the store needs none of them.
 *
 * Rejects with a `ConfigurationError` (`invalid_option`) if a table of that name has other keys or uses
 * another attribute for TTL, with a `DeadlineError` if the table is not active after two minutes, and with
 * the error of the SDK.
 *
 * @example
 * await createDynamoTable({ client: new DynamoDB({}) }); // once, before the first delivery
 */
export async function createDynamoTable(options: CreateTableOptions): Promise<void> {
  const own = ownOptions("createDynamoTable", options, ["client", "table"]);
  const { client } = own;
  const table = tableName(own.table);
  checkDynamoClient(client, [
    "createTable",
    "describeTable",
    "describeTimeToLive",
    "updateTimeToLive",
  ]);
  try {
    await client.createTable({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: KEY_ATTRIBUTE, AttributeType: "S" }],
      KeySchema: [{ AttributeName: KEY_ATTRIBUTE, KeyType: "HASH" }],
    });
  } catch (error) {
    if (!isNamed(error, "ResourceInUseException")) throw error;
  }
  await untilActive(client, table);
  await turnOnTtl(client, table);
}

async function untilActive(client: DynamoTableClient, table: string): Promise<void> {
  const deadline = performance.now() + ACTIVE_WITHIN_MS;
  for (;;) {
    const found = await describe(client, table);
    if (found !== undefined) {
      const { TableStatus, KeySchema = [], AttributeDefinitions = [] } = found;
      const keys = KeySchema.map(({ AttributeName = "", KeyType = "" }) => {
        const type = AttributeDefinitions.find((one) => one.AttributeName === AttributeName);
        return `${AttributeName} (${type?.AttributeType ?? ""}, ${KeyType})`;
      });
      if (keys.join(", ") !== `${KEY_ATTRIBUTE} (S, HASH)`) {
        throw invalidOption(
          `table ${table} exists and its key is ${keys.join(", ")}, not ${KEY_ATTRIBUTE} (S, HASH): name another table`,
        );
      }
      // A table that is updated can be read and written.
      if (TableStatus === "ACTIVE" || TableStatus === "UPDATING") return;
    }
    if (performance.now() >= deadline)
      throw new DeadlineError("createDynamoTable", ACTIVE_WITHIN_MS);
    await pause(POLL_MS);
  }
}

/** The table; undefined while DynamoDB does not show a table that it has just created. */
async function describe(client: DynamoTableClient, table: string) {
  try {
    return (await client.describeTable({ TableName: table })).Table;
  } catch (error) {
    if (isNamed(error, "ResourceNotFoundException")) return undefined;
    throw error;
  }
}

async function turnOnTtl(client: DynamoTableClient, table: string): Promise<void> {
  if (await hasTtl(client, table)) return;
  try {
    await client.updateTimeToLive({
      TableName: table,
      TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true },
    });
  } catch (error) {
    // A server for tests, such as dynalite, has no TTL and deletes nothing.
    if (isNamed(error, "UnknownOperationException")) return;
    // Another process may have turned it on in the meantime.
    if (!(await hasTtl(client, table))) throw error;
  }
}

async function hasTtl(client: DynamoTableClient, table: string): Promise<boolean> {
  const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName: table });
  const { TimeToLiveStatus, AttributeName } = TimeToLiveDescription ?? {};
  if (TimeToLiveStatus !== "ENABLED" && TimeToLiveStatus !== "ENABLING") return false;
  if (AttributeName === TTL_ATTRIBUTE) return true;
  throw invalidOption(
    `table ${table} exists and uses ${String(AttributeName)} for TTL, not ${TTL_ATTRIBUTE}: name another table`,
  );
}

function isNamed(error: unknown, name: string): boolean {
  return (Object(error) as { name?: unknown }).name === name;
}
