// The SDK is installed in test/platforms/sqs alone, so the compiler cannot find its types. The test of the types of the
// clients compiles with the real ones.
declare module "@aws-sdk/client-sqs" {
  import type { sqsQueue } from "identity-gateway-webhooks/sqs";

  type Client = Parameters<typeof sqsQueue>[0]["client"];

  export interface SQS extends Client {
    destroy(): void;
  }
  export const SQS: new (config: object) => SQS;
}
