// An AWS Lambda function behind API Gateway, payload format 1.0 or 2.0, or behind a function URL.
import { createWebhookReceiver } from "identity-gateway-webhooks";

/** The part of the proxy event that this function uses. */
export interface ProxyEvent {
  /** Format 1.0. */
  readonly httpMethod?: string;
  /** Format 2.0. */
  readonly requestContext?: { readonly http?: { readonly method: string } };
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  /** Format 1.0; shows a header that was sent twice. */
  readonly multiValueHeaders?: Readonly<Record<string, string[] | undefined>> | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

// Outside of the function, so that it is made once per instance. Instances share no memory: without a
// shared `store` each of them may handle the same delivery.
const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  // Above the function's own time-out (at most 15 minutes). Lambda freezes the process with the answer: a
  // handler that still runs after a 503 would go on in a later invocation, or never.
  handlerTimeoutMs: 900_000,
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      console.log(`${id}: ${event.type}`);
    },
  },
});

export async function handler(event: ProxyEvent) {
  const text = event.body ?? "";
  const { status, headers, body } = await receiver.receive({
    method: event.requestContext?.http?.method ?? event.httpMethod,
    headers: event.multiValueHeaders ?? event.headers ?? {},
    body: event.isBase64Encoded === true ? Buffer.from(text, "base64") : text,
  });
  return { statusCode: status, headers, body };
}
