import { invalidOption } from "../../common/errors.js";
import type { CallOptions } from "../../common/aws-clients.js";

/** A message attribute that is sent. */
export interface SqsAttribute {
  DataType: "String" | "Number";
  StringValue: string;
}

/** A message, as `receiveMessage` returns it. */
export interface SqsMessage {
  readonly MessageId?: string | undefined;
  readonly ReceiptHandle?: string | undefined;
  readonly Body?: string | undefined;
  readonly Attributes?: Readonly<Partial<Record<string, string>>> | undefined;
  readonly MessageAttributes?:
    Readonly<Record<string, { readonly StringValue?: string | undefined }>> | undefined;
}

/**
 * The part of the AWS SDK's `SQS` that the driver uses. Made by `new SQS(config)` of `@aws-sdk/client-sqs` 3.
 */
export interface SqsClient {
  send(...args: never): unknown;
  sendMessage(
    input: {
      QueueUrl: string;
      MessageBody: string;
      MessageAttributes?: Record<string, SqsAttribute>;
      MessageGroupId?: string;
      MessageDeduplicationId?: string;
    },
    options: CallOptions,
  ): Promise<unknown>;
  receiveMessage(
    input: {
      QueueUrl: string;
      MaxNumberOfMessages: number;
      WaitTimeSeconds: number;
      VisibilityTimeout: number;
      /** The name that every release of the SDK knows. */
      AttributeNames: "All"[];
      MessageAttributeNames: string[];
    },
    options: CallOptions,
  ): Promise<{ Messages?: SqsMessage[] | undefined }>;
  changeMessageVisibility(
    input: { QueueUrl: string; ReceiptHandle: string; VisibilityTimeout: number },
    options: CallOptions,
  ): Promise<unknown>;
  deleteMessage(
    input: { QueueUrl: string; ReceiptHandle: string },
    options: CallOptions,
  ): Promise<unknown>;
  getQueueAttributes(
    input: { QueueUrl: string; AttributeNames: "ApproximateNumberOfMessages"[] },
    options: CallOptions,
  ): Promise<{ Attributes?: Partial<Record<string, string>> | undefined }>;
}

/** The methods above. */
export const METHODS = [
  "sendMessage",
  "receiveMessage",
  "changeMessageVisibility",
  "deleteMessage",
  "getQueueAttributes",
];

const QUEUE_URL = /^https?:\/\/[^\s?#]+\/([\w-]{1,80}(?:\.fifo)?)$/;

/** The name of a queue. Throws `ConfigurationError` unless `url` is the URL of one. `option`: the option's name. */
export function queueNameOf(option: string, url: unknown): string {
  const name = typeof url === "string" ? QUEUE_URL.exec(url)?.[1] : undefined;
  if (name !== undefined) return name;
  throw invalidOption(
    `${option} must be the URL of a queue, such as https://sqs.eu-central-1.amazonaws.com/123456789012/gateway-deliveries`,
  );
}

/** The SDK waits without a limit by default, and a network that drops packets would use up its sockets. */
export const CALL_TIMEOUT_MS = 30_000;

export function bounded(): CallOptions {
  return { abortSignal: AbortSignal.timeout(CALL_TIMEOUT_MS) };
}
