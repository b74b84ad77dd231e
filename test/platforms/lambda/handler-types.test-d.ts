// Compiled, never run: `lambdaHandler(receiver)` fits wherever AWS's own types stand.
import type {
  ALBHandler,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  Context,
  LambdaFunctionURLHandler,
  SQSEvent,
  SQSHandler,
} from "aws-lambda";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { lambdaHandler } from "identity-gateway-webhooks/aws-lambda";

const receiver = createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined } });
const handler = lambdaHandler(receiver, { marginMs: 2_000 });

export const restApi: APIGatewayProxyHandler = handler;
export const httpApi: APIGatewayProxyHandlerV2 = handler;
export const functionUrl: LambdaFunctionURLHandler = handler;
export const loadBalancer: ALBHandler = handler;

// @ts-expect-error: messages of a queue are no HTTP requests
export const queue: SQSHandler = handler;

declare const message: SQSEvent;
declare const context: Context;
// @ts-expect-error: nor is one of them an event for the handler
void handler(message, context);

// @ts-expect-error: the option is misspelt
lambdaHandler(receiver, { marginMS: 2_000 });
// @ts-expect-error: adapters take a receiver
lambdaHandler({ secret: "s" });

// Proves that the handler is not `any`.
// @ts-expect-error: a result has a number as its status
export const status: Promise<{ statusCode: string }> = handler({}, context);
