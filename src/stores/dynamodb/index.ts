export { dynamoStore, type DynamoStoreOptions } from "./dynamo-store.js";
export { createDynamoTable } from "./create-table.js";
