import { isUtf8 } from "node:buffer";
import { describe, expect, test } from "vitest";
import { lambdaHandler } from "../../adapters/aws-lambda/index.js";
import type { LambdaEvent } from "../../adapters/aws-lambda/http-event.js";
import { createWebhookReceiver, type DeliveryContext } from "../../src/index.js";
import { signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { alarmReceiver, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { alarmBody, delivery, TEST_SECRET } from "../support/deliveries.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { failureOf } from "../support/testing/run-suite.js";

const [httpApi, restApi, functionUrl, alb, albMultiValue] = EVENT_FORMS;

/** Calls the function once with an event, and collects what the receiver logs. */
async function call(event: LambdaEvent) {
  const runs: string[] = [];
  const { receiver, lines, reports } = observedAlarmReceiver(({ rawBody }) => {
    runs.push(Buffer.from(rawBody).toString());
  });
  return { result: await lambdaHandler(receiver)(event), runs, lines, reports };
}

describe("the result has the form of the event", () => {
  const handled = {
    statusCode: 200,
    body: '{"outcome":"handled"}',
    isBase64Encoded: false,
  };
  const headers = { "content-type": "application/json", "cache-control": "no-store" };

  test.each([httpApi, restApi, functionUrl, alb])(
    "$name gets a statusCode and single headers",
    async (form) => {
      const { result } = await call(form?.eventOf(await signed()) ?? {});
      expect(result).toEqual({ ...handled, headers });
    },
  );

  test("a load balancer that sends multi-value headers gets multi-value headers", async () => {
    const { result } = await call(albMultiValue?.eventOf(await signed()) ?? {});
    expect(result).toEqual({
      ...handled,
      multiValueHeaders: { "content-type": ["application/json"], "cache-control": ["no-store"] },
    });
  });

  test("the headers of a result can be changed without effect on the next result", async () => {
    const handle = lambdaHandler(alarmReceiver(() => undefined));
    const event = restApi?.eventOf(await signed()) ?? {};
    const first = await handle(event);
    Object.assign(first.headers ?? {}, { "x-added": "1" });
    expect((await handle(event)).headers).toEqual(headers);
  });
});

describe("bodies", () => {
  test.each(EVENT_FORMS)(
    "$name: a front that decodes every body fails the conformance case other_bytes_same_text",
    async ({ eventOf, answerOf }) => {
      const runs: Uint8Array[] = [];
      const run = (_: unknown, { rawBody }: DeliveryContext) => void runs.push(rawBody);
      const handlers = { new_alarm: run, delete_my_data_event: run, unrecognized: run };
      const receiver = createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false });
      const handle = lambdaHandler(receiver);
      const target = async (request: Request): Promise<Response> => {
        const body = Buffer.from(await request.arrayBuffer());
        const event = eventOf({ method: "POST", headers: [...request.headers], body });
        const decoded = { ...event, body: body.toString(), isBase64Encoded: false };
        const { status, body: answer } = answerOf(await handle(decoded));
        return new Response(answer, { status });
      };
      await failureOf("other_bytes_same_text", { target });
      // The handler got the text that was signed: the bytes that the sender changed never reached the function.
      for (const rawBody of runs) expect(isUtf8(rawBody)).toBe(true);
    },
  );

  test("base64 of every length is read", async () => {
    for (let length = 90; length < 100; length += 1) {
      const body = `${" ".repeat(length)}${alarmBody()}`;
      const { headers } = await delivery({ body });
      const base64 = Buffer.from(body).toString("base64");
      const event = { httpMethod: "POST", headers, body: base64, isBase64Encoded: true };
      expect((await call(event)).result.statusCode).toBe(200);
    }
  });

  test.each(["{}", '{"alarm":1}', "a b=", "aGFsZg==="])(
    "a body that is called base64 and is none gets 503 and a log line that says so (%s)",
    async (body) => {
      const { headers } = await delivery();
      const event = { httpMethod: "POST", headers, body, isBase64Encoded: true };
      const { result, lines } = await call(event);
      expect(result.statusCode).toBe(503);
      expect(lines[0]?.message).toContain("isBase64Encoded is true and its body is no base64");
    },
  );

  test("a body over maxBodyBytes is refused in base64", async () => {
    const { headers } = await delivery();
    const handle = lambdaHandler(alarmReceiver(() => undefined, { maxBodyBytes: 100 }));
    const base64 = { body: Buffer.from("x".repeat(101)).toString("base64"), isBase64Encoded: true };
    const { statusCode, body } = await handle({ httpMethod: "POST", headers, ...base64 });
    expect([statusCode, body]).toEqual([409, expect.stringContaining("BODY_TOO_LARGE")]);
  });

  test("a body that something has parsed gets 503", async () => {
    const { headers } = await delivery();
    const event = { httpMethod: "POST", headers, body: { alarm: {} }, isBase64Encoded: true };
    const { result } = await call(event as never);
    expect(result.body).toContain("BODY_CONSUMED");
  });
});

describe("headers", () => {
  test("a load balancer without multi-value headers hides all values but the last, which is signed or refused", async () => {
    const request = await signed();
    const [, id = ""] = request.headers.find(([name]) => name === "x-webhook-id") ?? [];
    const lastIsRight = withHeader(request, "x-webhook-id", "other", id);
    const lastIsWrong = withHeader(request, "x-webhook-id", id, "other");
    expect((await call(alb?.eventOf(lastIsRight) ?? {})).result.statusCode).toBe(200);
    expect((await call(alb?.eventOf(lastIsWrong) ?? {})).result.statusCode).toBe(409);
  });

  test("header names in any letter case are found", async () => {
    const request = await signed();
    const headers = request.headers.map(([name, value]) => [name.toUpperCase(), value] as const);
    const { result } = await call(restApi?.eventOf({ ...request, headers }) ?? {});
    expect(result.statusCode).toBe(200);
  });
});

describe("events", () => {
  test.each([
    ["an HTTP event without headers", { httpMethod: "POST", headers: null, body: null }],
    ["an HTTP event without all other parts", { httpMethod: "POST" }],
    ["format 2.0 without a method", { requestContext: { http: {} } }],
    ["a load balancer's event without a method", { requestContext: { elb: {} } }],
  ])("%s is refused for a retry", async (_what, event) => {
    const { result } = await call(event as never);
    expect(result.statusCode).toBe(409);
    expect(result.body).toContain("MALFORMED");
  });

  test.each([
    ["a test event of the console", { key1: "value1", key2: "value2", key3: "value3" }],
    ["messages of SQS", { Records: [{ eventSource: "aws:sqs", body: "{}", messageId: "1" }] }],
    ["a WebSocket message", { requestContext: { eventType: "MESSAGE", connectionId: "1" } }],
    ["nothing", undefined],
  ])("%s makes the invocation fail, so that its sender sends it again", async (_what, event) => {
    const failure = call(event as never);
    await expect(failure).rejects.toMatchObject({ code: "no_http_event" });
    await expect(failure).rejects.toThrow("Check the triggers of this function");
  });
});
