// An AWS Lambda function behind API Gateway, a function URL or an Application Load Balancer.
import { Redis } from "ioredis";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { lambdaHandler } from "identity-gateway-webhooks/aws-lambda";
import { redisStore } from "identity-gateway-webhooks/redis";

// Outside of the function, so that both are made once per instance. Instances share no memory, so the
// store must be a shared one.
const url = process.env["REDIS_URL"];
if (url === undefined) throw new Error("REDIS_URL is not set");
const client = new Redis(url);
client.on("error", (error) => {
  console.error(error.message);
});

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store: redisStore({ client }),
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      console.log(`${id}: ${event.type}`);
    },
  },
});

export const handler = lambdaHandler(receiver);
