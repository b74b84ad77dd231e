// GATEWAY_WEBHOOK_SECRET=… AWS_REGION=eu-central-1 npx tsx examples/dynamodb.ts, with @aws-sdk/client-dynamodb
// A receiver for any number of hosts or functions. Region and credentials come from the environment, as
// always with the SDK; AWS_ENDPOINT_URL_DYNAMODB names another server, such as DynamoDB Local.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { createDynamoTable, dynamoStore } from "identity-gateway-webhooks/dynamodb";
import { nodeHandler } from "identity-gateway-webhooks/node";

// The client that has a method for each operation. It takes the config of a DynamoDBClient.
const client = new DynamoDB({});
// In production leave this to CloudFormation or Terraform: docs/stores/dynamodb.md has both.
if (process.env["CREATE_TABLE"] === "true") await createDynamoTable({ client });

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store: dynamoStore({ client }),
  handlers: {
    new_alarm: (alarm, { id, takeover }) => {
      // With `takeover` an earlier run ended without a result, and may have done a part of the work.
      console.log(
        `${id}: ${alarm.event_type}, severity ${alarm.severity}${takeover ? ", again" : ""}`,
      );
    },
  },
});

const server = createServer(nodeHandler(receiver));
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

process.once("SIGTERM", () => {
  server.close();
  void receiver.drain().then(() => {
    client.destroy();
  });
});
