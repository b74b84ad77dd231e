import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { createDynamoTable, dynamoStore } from "identity-gateway-webhooks/dynamodb";

export async function openStore({ url: endpoint }, table) {
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  const client = new DynamoDB({ endpoint, region: "eu-central-1", credentials });
  const store = dynamoStore({ client, table });
  await createDynamoTable({ client, table });
  return store;
}
