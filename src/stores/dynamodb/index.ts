export { dynamoStore, type DynamoStoreOptions } from "./dynamo-store.js";
export { createDynamoTable, type CreateTableOptions } from "./create-table.js";
export type { DynamoClient, DynamoTableClient } from "./dynamo-client.js";
