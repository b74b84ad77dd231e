// The SDK is installed in test/platforms/dynamodb alone, so the compiler cannot find its types. The test of
// the types of the clients compiles with the real ones.
declare module "@aws-sdk/client-dynamodb" {
  import type { DynamoClient, DynamoTableClient } from "identity-gateway-webhooks/dynamodb";

  interface Config {
    endpoint?: string | undefined;
    region?: string | undefined;
    credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  }

  /** The SDK's client with a method for each operation. */
  export const DynamoDB: new (
    config: Config,
  ) => DynamoClient & DynamoTableClient & { destroy(): void };
}
