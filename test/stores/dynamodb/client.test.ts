import { expect, it } from "vitest";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { configurationErrorOf } from "../../options/refusal.js";

const unused = (): never => expect.fail("the client is not used");
/** `DynamoDB` of the AWS SDK 2 has no `send`. */
const OF_SDK_2 = { getItem: unused, putItem: unused, updateItem: unused, deleteItem: unused };
const client = { ...OF_SDK_2, send: unused } as never;

it.each([
  ["dynamoStore", undefined, "gateway_deliveries"],
  ["dynamoStore with a table", "bbb", "bbb"],
])("the scope of %s is its table or prefix, also in a copy of it", (_name, table, scope) => {
  const copy = { ...dynamoStore({ client, table }) };
  expect(copy.scope).toBe(scope);
});

it("dynamoStore refuses a DynamoDB of the AWS SDK 2 and names the versions that work", () => {
  const { code, message } = configurationErrorOf(() => dynamoStore({ client: OF_SDK_2 as never }));
  expect(code).toBe("unsupported_version");
  expect(message).toContain(
    "client is of aws-sdk 2, which does not work here. Supported: @aws-sdk/client-dynamodb 3 and later",
  );
});

it("dynamoStore refuses an object with no method of its client as an invalid option, of no version", () => {
  expect(configurationErrorOf(() => dynamoStore({ client: {} as never })).code).toBe(
    "invalid_option",
  );
});
