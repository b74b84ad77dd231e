import { SQS } from "@aws-sdk/client-sqs";
import { sqsQueue } from "identity-gateway-webhooks/sqs";

export async function openQueue({ url: endpoint }, name) {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const client = new SQS({ endpoint, region: "us-east-1", credentials });
  const { QueueUrl: queueUrl } = await client.createQueue({ QueueName: name });
  const { QueueUrl: deadQueueUrl } = await client.createQueue({ QueueName: `${name}-dead` });
  return sqsQueue({ client, queueUrl, deadQueueUrl });
}
