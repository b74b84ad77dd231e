// The SDK is installed in test/platforms/dynamodb alone, so the compiler cannot find its types. The test of
// the types of the clients compiles with the real ones.
declare module "@aws-sdk/client-dynamodb" {
  import type { createDynamoTable, dynamoStore } from "identity-gateway-webhooks/dynamodb";

  type ClientOf<Function extends (options: never) => unknown> = Parameters<Function>[0]["client"];

  interface Config {
    endpoint?: string | undefined;
    region?: string | undefined;
    credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  }

  /** The SDK's client with a method for each operation. */
  export const DynamoDB: new (
    config: Config,
  ) => ClientOf<typeof dynamoStore> & ClientOf<typeof createDynamoTable> & { destroy(): void };
}
