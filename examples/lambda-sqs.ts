// Two functions of one bundle: `receive` behind a function URL or an HTTP API, and `work` behind the event source of
// an SQS queue, with ReportBatchItemFailures. docs/inbox.md has the settings. On this machine: npx tsx examples/demo/lambda.ts, after npm run build
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { SQS } from "@aws-sdk/client-sqs";
import { createWebhookReceiver, DiscardDelivery } from "identity-gateway-webhooks";
import { lambdaHandler } from "identity-gateway-webhooks/aws-lambda";
import { dynamoStore } from "identity-gateway-webhooks/dynamodb";
import { inbox } from "identity-gateway-webhooks/inbox";
import { sqsHandler, sqsQueue } from "identity-gateway-webhooks/sqs";

const driver = sqsQueue({
  client: new SQS({}),
  queueUrl: process.env["QUEUE_URL"] ?? "",
  deadQueueUrl: process.env["DEAD_QUEUE_URL"] ?? "",
  maxReceiveCount: 100,
});
// For both: the jobs have keys of their own.
const store = dynamoStore({ client: new DynamoDB({}) });

export const receive = lambdaHandler(
  createWebhookReceiver({
    secret: process.env["GATEWAY_WEBHOOK_SECRET"],
    store,
    // Its job must fit into a message of 256 KiB.
    maxBodyBytes: 190_000,
    handlers: inbox({ driver }),
  }),
);

export const work = sqsHandler({
  driver,
  store,
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      if (event.severity === "INFO")
        throw new DiscardDelivery({ reason: "informational events are not handled" });
      console.log(`${id}: ${event.type}`);
    },
  },
  // The gateway does not send a dead delivery again, so alert on it.
  onJob: ({ outcome, id, attempt }) => {
    if (outcome === "dead") console.error(`${id} is dead after ${String(attempt)} attempts`);
  },
});
