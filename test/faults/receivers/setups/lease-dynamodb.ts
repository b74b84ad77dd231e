import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { dynamoStore } from "identity-gateway-webhooks/dynamodb";
import { withLeases } from "../lease-receiver.js";

const CLOCK_SKEW_MS = 600;

export const makeReceiver = withLeases(({ port, clockOffMs }) => {
  const client = new DynamoDB({
    endpoint: `http://127.0.0.1:${port}`,
    region: "eu-central-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  // The clocks differ by almost as much as the store allows.
  const offMs = Math.sign(clockOffMs) * (CLOCK_SKEW_MS / 2 - 1);
  return dynamoStore({ client, clockSkewMs: CLOCK_SKEW_MS, now: () => Date.now() + offMs });
});
