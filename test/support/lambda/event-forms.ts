import { isUtf8 } from "node:buffer";
import type { LambdaEvent } from "../../../adapters/aws-lambda/http-event.js";
import { recordOf, type HeaderLine, type WireRequest } from "../../../kit/sending/wire.js";

/** What a front of Lambda sends its client. */
export interface FrontAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How one front of Lambda writes a request as an event, and reads the result of the function. */
export interface EventForm {
  readonly name: string;
  /** Names the form in a file name or an environment variable. */
  readonly key: string;
  readonly eventOf: (request: WireRequest) => LambdaEvent;
  /** The answer, or 502 if the front does not understand the result. */
  readonly answerOf: (result: unknown) => FrontAnswer;
  /** Of a header that was sent twice the function sees the last value only. */
  readonly hidesRepeats?: true;
  /** A larger body is answered 413 by the front. */
  readonly maxBodyBytes?: number;
}

const TEXT_TYPE = /^(?:text\/|application\/(?:json|javascript|xml)\b|$)/;

/** Text as it is, anything else in base64, as all fronts do. */
function bodyOf({ headers, body }: WireRequest) {
  if (body === undefined || body.length === 0) return { body: null, isBase64Encoded: false };
  const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  const isText = TEXT_TYPE.test(type) && isUtf8(body);
  const text = Buffer.from(body).toString(isText ? "utf8" : "base64");
  return { body: text, isBase64Encoded: !isText };
}

const lowered = (lines: readonly HeaderLine[]): HeaderLine[] =>
  lines.map(([name, value]) => [name.toLowerCase(), value]);

/** Every value of each header. */
function listsOf(lines: readonly HeaderLine[]): Record<string, string[]> {
  const lists = Object.entries(recordOf(lines)).map(([name, value]) => [name, [value].flat()]);
  return Object.fromEntries(lists) as Record<string, string[]>;
}

/** One value of each header, as `pick` makes it of all. */
function valuesOf(
  lines: readonly HeaderLine[],
  pick: (values: readonly string[]) => string | undefined,
): Record<string, string | undefined> {
  const values = Object.entries(listsOf(lines)).map(([name, list]) => [name, pick(list)]);
  return Object.fromEntries(values) as Record<string, string | undefined>;
}

const joined = (values: readonly string[]) => values.join(",");
const last = (values: readonly string[]) => values.at(-1);

/** Payload format 2.0. */
function format2(request: WireRequest): LambdaEvent {
  const { method } = request;
  const event = {
    version: "2.0",
    routeKey: "$default",
    rawPath: "/webhooks/gateway",
    rawQueryString: "",
    headers: valuesOf(lowered(request.headers), joined),
    requestContext: {
      accountId: "123456789012",
      http: { method, path: "/webhooks/gateway", protocol: "HTTP/1.1", sourceIp: "192.0.2.1" },
      stage: "$default",
    },
  };
  const { body, isBase64Encoded } = bodyOf(request);
  // Without a body the event has no such member.
  return body === null ? { ...event, isBase64Encoded: false } : { ...event, body, isBase64Encoded };
}

/** Payload format 1.0. */
function format1(request: WireRequest): LambdaEvent {
  const { method, headers } = request;
  const event = {
    resource: "/{proxy+}",
    path: "/webhooks/gateway",
    httpMethod: method,
    headers: headers.length === 0 ? null : valuesOf(headers, last),
    multiValueHeaders: headers.length === 0 ? null : listsOf(headers),
    queryStringParameters: null,
    requestContext: { httpMethod: method, resourcePath: "/{proxy+}", stage: "prod" },
    ...bodyOf(request),
  };
  return event;
}

function loadBalancer(
  request: WireRequest,
  headers: Pick<LambdaEvent, "headers" | "multiValueHeaders">,
): LambdaEvent {
  const { body, isBase64Encoded } = bodyOf(request);
  const event = {
    requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:test" } },
    httpMethod: request.method,
    path: "/webhooks/gateway",
    queryStringParameters: {},
    ...headers,
    body: body ?? "",
    isBase64Encoded,
  };
  return event;
}

/** What all fronts answer when an invocation fails. */
export const BAD_GATEWAY: FrontAnswer = { status: 502, headers: {}, body: "" };

interface AnyResult {
  readonly statusCode?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

function answerOf(result: unknown, isMultiValue = false): FrontAnswer {
  const { statusCode, body, isBase64Encoded, ...given } = Object(result) as AnyResult;
  const lists = Object.entries(given.multiValueHeaders ?? {});
  const headers = isMultiValue
    ? Object.fromEntries(lists.map(([name, values]) => [name, values.join(",")]))
    : (given.headers ?? {});
  const isAnswer = typeof statusCode === "number" && typeof body === "string";
  if (!isAnswer || typeof isBase64Encoded !== "boolean") return BAD_GATEWAY;
  const text = isBase64Encoded ? Buffer.from(body, "base64").toString() : body;
  return { status: statusCode, headers, body: text };
}

/** The five forms in which Lambda gets HTTP requests. */
export const EVENT_FORMS: readonly EventForm[] = [
  { name: "HTTP API", key: "http-api", eventOf: format2, answerOf },
  { name: "REST API", key: "rest-api", eventOf: format1, answerOf },
  {
    name: "function URL",
    key: "function-url",
    eventOf: (request) => {
      const event = format2(request);
      const domainName = "abcdef.lambda-url.eu-central-1.on.aws";
      return { ...event, requestContext: { ...event.requestContext, domainName } };
    },
    answerOf,
  },
  {
    name: "ALB",
    key: "alb",
    eventOf: (request) =>
      loadBalancer(request, { headers: valuesOf(lowered(request.headers), last) }),
    answerOf,
    hidesRepeats: true,
    maxBodyBytes: 1_048_576,
  },
  {
    name: "ALB with multi-value headers",
    key: "alb-multi-value",
    eventOf: (request) =>
      loadBalancer(request, { multiValueHeaders: listsOf(lowered(request.headers)) }),
    answerOf: (result) => answerOf(result, true),
    maxBodyBytes: 1_048_576,
  },
];
