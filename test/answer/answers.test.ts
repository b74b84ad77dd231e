import { describe, expect, test } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  memoryStore,
  type UnverifiableOption,
  type WebhookOutcome,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { resultOfStatus } from "../../src/answer/outcome.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { heldReceiver } from "../support/alarm-receiver.js";
import { alarmBody, delivery, NO_TIME_TO_WAIT, TEST_SECRET } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import type { SigningReceiverOptions } from "../support/receiver-options.js";

/** The design's table of answers: outcome, status, status with `unverifiable: "reject"`, Retry-After. */
const TABLE: [WebhookOutcome, number, number, string?][] = [
  ["handled", 200, 200],
  ["duplicate", 200, 200],
  ["discarded", 200, 200],
  ["unhandled", 200, 200],
  ["in_flight", 409, 409, "30"],
  ["reachable", 200, 200],
  ["method_not_allowed", 405, 405],
  ["malformed", 409, 400],
  ["unsigned", 409, 401],
  ["signature_mismatch", 409, 401],
  ["stale", 409, 401],
  ["type_mismatch", 409, 400],
  ["body_too_large", 409, 413],
  ["body_timeout", 408, 408],
  ["body_consumed", 503, 503],
  ["unrecognized", 503, 503],
  ["handler_failed", 500, 500],
  ["handler_timeout", 503, 503, "30"],
  ["retry_later", 503, 503, "60"],
  ["overloaded", 503, 503, "12"],
  ["store_unavailable", 503, 503],
  ["secret_unavailable", 503, 503],
  ["draining", 503, 503, "10"],
  ["internal_error", 500, 500],
];

/** In every field that a sender controls, and in the errors of handlers. */
const CANARY = "canary-19121212-1212";

type Unverifiable = "retry" | "reject";
type Options = Partial<SigningReceiverOptions>;

const smallStore = () => memoryStore({ maxEntries: 10, now: () => 0 });

function receiverWith(options: Options) {
  const handlers = { new_alarm: () => undefined };
  return recordingReceiver({ handlers, store: smallStore(), ...options }).receiver;
}

const canaryDelivery = (overrides: Parameters<typeof delivery>[0] = {}) =>
  delivery({ id: CANARY, body: alarmBody({ text: CANARY }), ...overrides });

/** The answer to a delivery with `change` in its headers or body. */
async function answerTo(
  options: Options,
  request: Promise<WebhookRequest> = canaryDelivery(),
  change: object = {},
) {
  return receiverWith(options).receive({ ...(await request), ...change });
}

async function changedHeader(options: Options, name: string, value: string | undefined) {
  const { headers } = await canaryDelivery();
  return answerTo(options, canaryDelivery(), { headers: { ...headers, [name]: value } });
}

const failing = (error: unknown) => ({ handlers: { new_alarm: throwing(error) } });

const SCENARIOS: Record<
  WebhookOutcome,
  (mode: { unverifiable: UnverifiableOption }) => Promise<WebhookResponse>
> = {
  handled: (mode) => answerTo(mode),
  duplicate: async (mode) => {
    const receiver = receiverWith(mode);
    await receiver.receive(await canaryDelivery());
    return receiver.receive(await canaryDelivery());
  },
  discarded: (mode) => answerTo({ ...mode, ...failing(new DiscardDelivery({ reason: CANARY })) }),
  unhandled: (mode) => answerTo({ ...mode, handlers: { unrecognized: () => undefined } }),
  in_flight: async (mode) => {
    const { receiver, start } = heldReceiver({ ...mode, store: smallStore() });
    const first = await start(await canaryDelivery());
    const second = await receiver.receive(await canaryDelivery());
    expect((await first.succeed()).outcome).toBe("handled");
    return second;
  },
  reachable: (mode) => answerTo(mode, canaryDelivery(), { method: "GET", headers: {} }),
  method_not_allowed: (mode) => answerTo(mode, canaryDelivery(), { method: CANARY }),
  malformed: (mode) => changedHeader(mode, "x-webhook-id", `${CANARY}:`),
  unsigned: (mode) => changedHeader(mode, "x-webhook-signature", undefined),
  signature_mismatch: (mode) => answerTo(mode, canaryDelivery({ secret: CANARY })),
  stale: (mode) => answerTo(mode, canaryDelivery({ timestamp: 1_234_567_890 })),
  type_mismatch: (mode) => answerTo(mode, canaryDelivery({ type: CANARY })),
  body_too_large: (mode) => answerTo({ ...mode, maxBodyBytes: 10 }),
  body_timeout: (mode) =>
    answerTo(mode, canaryDelivery(), { body: new UnreadableBody("body_timeout", 3, CANARY) }),
  body_consumed: (mode) => answerTo(mode, canaryDelivery(), { body: { text: CANARY } }),
  unrecognized: (mode) => answerTo(mode, canaryDelivery({ body: CANARY })),
  handler_failed: (mode) => answerTo({ ...mode, ...failing(new Error(CANARY)) }),
  handler_timeout: (mode) =>
    answerTo({
      ...mode,
      handlerTimeoutMs: 1,
      handlers: {
        new_alarm: (_, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", resolve)),
      },
    }),
  retry_later: (mode) => answerTo({ ...mode, ...failing(new RetryLater({ reason: CANARY })) }),
  overloaded: async (mode) => {
    const { receiver, start } = heldReceiver({ ...mode, maxConcurrentDeliveries: 1 });
    const first = await start(await canaryDelivery({ id: "first" }));
    const second = await receiver.receive({ ...(await canaryDelivery()), ...NO_TIME_TO_WAIT });
    expect((await first.succeed()).outcome).toBe("handled");
    return second;
  },
  store_unavailable: (mode) => {
    const claim = () => Promise.reject(new Error(CANARY));
    return answerTo({ ...mode, store: { ...memoryStore({ maxEntries: 1 }), claim } });
  },
  secret_unavailable: (mode) =>
    answerTo({ ...mode, secret: () => Promise.reject(new Error(CANARY)) }),
  draining: async (mode) => {
    const receiver = receiverWith(mode);
    await receiver.drain();
    return receiver.receive(await canaryDelivery());
  },
  internal_error: (mode) => answerTo({ ...mode, now: throwing(new Error(CANARY)) }),
};

test("the table and the scenarios contain every outcome once", () => {
  expect(TABLE.map(([outcome]) => outcome).sort()).toEqual(Object.keys(SCENARIOS).sort());
});

/** The outcomes that can be made final. */
const REJECTABLE = TABLE.filter(([, status, rejectStatus]) => status !== rejectStatus);

test.each(REJECTABLE)(
  "unverifiable: { %s: reject } makes that outcome final, and no other",
  async (chosen) => {
    for (const [outcome, status, rejectStatus] of REJECTABLE) {
      const { status: answered } = await SCENARIOS[outcome]({
        unverifiable: { [chosen]: "reject" },
      });
      expect([outcome, answered]).toEqual([outcome, outcome === chosen ? rejectStatus : status]);
    }
  },
);

describe.each<Unverifiable>(["retry", "reject"])("with unverifiable: %j", (unverifiable) => {
  test.each(TABLE)(
    `%s has its documented answer with unverifiable: ${unverifiable}`,
    async (outcome, status, rejectStatus, retryAfter) => {
      const answer = await SCENARIOS[outcome]({ unverifiable });
      const expectedStatus = unverifiable === "reject" ? rejectStatus : status;
      expect({ outcome: answer.outcome, status: answer.status }).toEqual({
        outcome,
        status: expectedStatus,
      });
      expect(answer.headers).toEqual({
        "cache-control": "no-store",
        ...(outcome !== "reachable" && { "content-type": "application/json" }),
        ...(outcome === "method_not_allowed" && { allow: "GET, HEAD, OPTIONS, POST" }),
        ...(retryAfter !== undefined && { "retry-after": retryAfter }),
      });
      expect(answer.body === "" ? { outcome: "reachable" } : JSON.parse(answer.body)).toEqual(
        expectedStatus === 200
          ? { outcome }
          : {
              error: {
                code: outcome.toUpperCase(),
                message: expect.stringMatching(/^[A-Z].*\.$/) as string,
              },
            },
      );
      expect(JSON.stringify(answer)).not.toContain(CANARY);
      expect(JSON.stringify(answer)).not.toContain(TEST_SECRET);
    },
  );
});

test("no outcome has a status that stops the gateway's retries by default", () => {
  const FINAL = [400, 401, 403, 404, 422];
  expect(TABLE.filter(([, status]) => FINAL.includes(status))).toEqual([]);
});

test.each([
  [199, "unlisted"],
  [200, "acknowledged"],
  [299, "acknowledged"],
  [300, "unlisted"],
  [409, "retryable"],
  [422, "final"],
  [418, "unlisted"],
])("to the gateway the status %i is %s", (status, result) => {
  expect(resultOfStatus(status)).toBe(result);
});
