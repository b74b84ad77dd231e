import { GatewayWebhookError } from "../../src/common/errors.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { UnreadableBody, type WebhookRequest } from "../../src/delivery/request.js";

/**
 * An HTTP request as AWS passes it to a function: the events of API Gateway (HTTP API with payload format
 * 2.0 or 1.0, REST API), of function URLs and of Application Load Balancers. Only the members that are read.
 */
export interface LambdaEvent {
  /** The method in payload format 1.0 and behind a load balancer. */
  readonly httpMethod?: string | undefined;
  /** Says which front made the event. */
  readonly requestContext?:
    | {
        /** Payload format 2.0 and function URLs. */
        readonly http?: { readonly method: string } | undefined;
        /** Payload format 1.0. */
        readonly httpMethod?: string | undefined;
        /** Application Load Balancers. */
        readonly elb?: unknown;
      }
    | undefined;
  /** A header that was sent twice has its values joined by commas in format 2.0, else only the last one. */
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  /** All values of each header: payload format 1.0, and load balancers that are set to send them. */
  readonly multiValueHeaders?:
    Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  /** Null or absent without a body. */
  readonly body?: string | null | undefined;
  /** Whether `body` is base64. */
  readonly isBase64Encoded?: boolean | undefined;
}

/** What the function returns: the answer in the form of its event. */
export interface LambdaResult {
  /** HTTP status code. */
  statusCode: number;
  /** Absent behind a load balancer that sends `multiValueHeaders`. */
  headers?: Record<string, string>;
  /** Only behind a load balancer that sends them: it ignores `headers` then. */
  multiValueHeaders?: Record<string, string[]>;
  /** JSON text; empty for `reachable`. */
  body: string;
  /** Always false: the body is text. */
  isBase64Encoded: boolean;
}

const NO_BASE64 = new UnreadableBody(
  "body_consumed",
  0,
  "isBase64Encoded is true and its body is no base64: look for what changes events.",
);

/**
 * Checks that an event is an HTTP request. Throws `no_http_event`: the invocation fails, so that a queue keeps its
 * message and none of it is lost.
 */
export function httpEventOf(event: unknown): LambdaEvent {
  const { httpMethod, requestContext } = Object(event) as LambdaEvent;
  const context = Object(requestContext) as NonNullable<typeof requestContext>;
  const isHttp =
    typeof (httpMethod ?? context.httpMethod) === "string" ||
    typeof context.http === "object" ||
    typeof context.elb === "object";
  if (!isHttp) {
    throw new GatewayWebhookError(
      "no_http_event",
      "the event is no HTTP request: lambdaHandler takes those of API Gateway (HTTP and REST APIs)," +
        " function URLs and Application Load Balancers. Check the triggers of this function",
    );
  }
  return event as LambdaEvent;
}

/** The request in an event. A part that is missing is left to the receiver to refuse. */
export function requestOf(event: LambdaEvent): Pick<WebhookRequest, "method" | "headers" | "body"> {
  const { httpMethod, requestContext, headers, multiValueHeaders } = event;
  return {
    method: requestContext?.http?.method ?? requestContext?.httpMethod ?? httpMethod,
    // In format 1.0 `headers` has only the last value of a header that was sent twice.
    headers: multiValueHeaders ?? headers ?? {},
    body: bodyOf(event),
  };
}

/** The answer in the form of its event. */
export function resultOf(
  { requestContext, multiValueHeaders }: LambdaEvent,
  { status, headers, body }: Omit<WebhookResponse, "outcome">,
): LambdaResult {
  const result = { statusCode: status, body, isBase64Encoded: false };
  const isMultiValue = requestContext?.elb !== undefined && (multiValueHeaders ?? null) !== null;
  if (!isMultiValue) return { ...result, headers: { ...headers } };
  const lists = Object.entries(headers).map(([name, value]): [string, string[]] => [name, [value]]);
  return { ...result, multiValueHeaders: Object.fromEntries(lists) };
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent): WebhookRequest["body"] {
  const given = body ?? "";
  if (isBase64Encoded !== true || typeof (given as unknown) !== "string") return given;
  const bytes = Buffer.from(given, "base64");
  // Node skips what is no base64, so such a text has fewer bytes than its length says.
  const length = given.replace(/={1,2}$/, "").length;
  return bytes.length === Math.floor((length * 3) / 4) ? bytes : NO_BASE64;
}
