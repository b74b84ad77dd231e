import { describe, expect, test } from "vitest";
import type { WebhookRequest } from "../../src/index.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../../src/answer/outcome-causes.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { NOW_SECONDS, delivery, eventDelivery } from "../support/deliveries.js";
import { SCENES, collect } from "../support/outcome-scenes.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";

const PREFIX = "identity-gateway-webhooks: ";

/** The single line that a request causes. */
async function lineOf(request: WebhookRequest, given: Partial<CommonReceiverOptions> = {}) {
  const { receiver, lines } = observedAlarmReceiver(() => undefined, { ...given });
  await receiver.receive(request);
  expect(lines).toHaveLength(1);
  const [line] = lines;
  expect(line?.message.startsWith(PREFIX)).toBe(true);
  return { level: line?.level, line: line?.message.slice(PREFIX.length) ?? "" };
}

/** Each refusal, and the part of its line that is not in the table. */
const REFUSALS = [
  ["malformed", "X-Webhook-Id is repeated."],
  ["unsigned", "has_secret is false"],
  ["signature_mismatch", "trailing newline"],
  ["stale", "Signed 301 s ago"],
  ["type_mismatch", "X-Webhook-Type"],
  ["body_too_large", "The limit is 64 bytes."],
  ["body_timeout", "bodyTimeoutMs"],
  ["body_consumed", "pass the raw body"],
  ["unrecognized", "Give handlers.unrecognized to take it."],
] as const;

describe("the log line of a refusal", () => {
  test.each(REFUSALS)(
    "the log line of %s gives the known fact, the usual causes and the command that finds out more",
    async (outcome, fact) => {
      const { lines } = await collect(SCENES[outcome]);
      const start = `${PREFIX}${outcome}: ${OUTCOMES[outcome].message} `;
      const line = lines.map(({ message }) => message).find((one) => one.startsWith(start)) ?? "";
      const { causes, command = "" } = OUTCOME_CAUSES[outcome];
      expect(line).toContain(fact);
      for (const cause of causes) expect(line).toContain(cause);
      expect(line.endsWith(`To find out more: ${command}`)).toBe(true);
      expect(command).toMatch(/^npx identity-gateway-webhooks (explain|doctor|listen)\b/);
    },
  );

  test("the log says once per type without a handler that its deliveries are dropped", async () => {
    const { level, line } = await lineOf(await eventDelivery("DATA_DELETED"));
    expect(level).toBe("warn");
    expect(line).toContain(
      "unhandled: no handler is given for delete_my_data_event, so the delivery is dropped: " +
        "it is answered 200 and not sent again.",
    );
    expect(line).toContain("add the handler");
  });
});

describe("the log line of a stale delivery", () => {
  test.each([
    [-347, 300_000, "Signed 347 s ago: 47 s older than timestampToleranceMs (300000) allows."],
    [
      347,
      300_000,
      "Signed 347 s ahead of this clock: 47 s more than timestampToleranceMs (300000) allows.",
    ],
    [-2, 1_500, "Signed 2 s ago: 1 s older than timestampToleranceMs (1500) allows."],
  ])(
    "the log line of a stale delivery gives the difference: %d s with a tolerance of %d ms",
    async (seconds, timestampToleranceMs, expected) => {
      const request = await delivery({ timestamp: NOW_SECONDS + seconds });
      const { level, line } = await lineOf(request, { timestampToleranceMs });
      expect(level).toBe("error");
      expect(line).toContain(expected);
    },
  );

  test("the log line of a stale delivery says if the clock gives no number", async () => {
    const { line } = await lineOf(await delivery(), { now: () => Number.NaN });
    expect(line).toContain("The option now gave no number.");
  });
});

describe("the log line of a malformed delivery", () => {
  const SECRET_VALUE = "canary:19000101-9988";
  const ID = "X-Webhook-Id";
  const TOKEN = "is not 1 to 128 characters of [0-9A-Za-z._-]";

  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ["is missing", { "x-webhook-timestamp": undefined }, "X-Webhook-Timestamp is missing."],
    ["breaks the grammar", { "x-webhook-id": SECRET_VALUE }, `${ID} ${TOKEN}.`],
    ["is not text", { "x-webhook-type": 5 }, `X-Webhook-Type ${TOKEN}.`],
    ["is a list of two", { "x-webhook-id": ["a", "b"] }, `${ID} is repeated.`],
    ["comes joined", { "x-webhook-id": "a, b" }, `${ID} is repeated.`],
    ["comes in two letter cases", { "X-Webhook-Id": "other" }, `${ID} is repeated.`],
    [
      "is no timestamp",
      { "x-webhook-timestamp": SECRET_VALUE },
      "X-Webhook-Timestamp is not 1 to 12 digits.",
    ],
    [
      "is no signature",
      { "x-webhook-signature": SECRET_VALUE },
      "X-Webhook-Signature is not v1= and 64 hexadecimal digits, or a list of at most 8.",
    ],
    [
      "is missing beside a signature that is wrong",
      { "x-webhook-id": undefined, "x-webhook-signature": SECRET_VALUE },
      `${ID} is missing; X-Webhook-Signature is not v1= and 64 hexadecimal digits, or a list of at most 8.`,
    ],
    [
      "is missing beside a signature that is",
      { "x-webhook-id": undefined, "x-webhook-signature": undefined },
      `malformed. ${ID} is missing. Usual`,
    ],
  ])("the log names a header that %s and hides its value", async (_how, headers, expected) => {
    const genuine = await delivery();
    const { line } = await lineOf({ ...genuine, headers: { ...genuine.headers, ...headers } });
    expect(line).toMatch(/^malformed: /);
    expect(line).toContain(expected);
    expect(line).not.toContain(SECRET_VALUE);
  });

  test("the log line of a malformed delivery says if all four headers are missing", async () => {
    const none = "None of the four X-Webhook- headers is there.";
    const nothing = undefined as unknown as WebhookRequest["headers"];
    for (const headers of [{}, new Headers(), nothing, null as never]) {
      expect((await lineOf({ headers, body: "" })).line).toContain(none);
    }
  });

  test("the log line of a malformed delivery names the wrong headers of a Headers object too", async () => {
    const headers = new Headers([
      ["X-Webhook-Id", "a"],
      ["X-Webhook-Id", "b"],
    ]);
    const { line } = await lineOf({ headers, body: "" });
    expect(line).toContain(
      `${ID} is repeated; X-Webhook-Timestamp is missing; X-Webhook-Type is missing.`,
    );
  });

  test("the log line of a malformed delivery names no header if the headers cannot be read twice", async () => {
    let reads = 0;
    const headers = {
      get() {
        reads += 1;
        if (reads > 4) throw new Error("read once only");
        return null;
      },
    };
    const { line } = await lineOf({ headers, body: "" });
    expect(line).toContain("malformed. Usual causes: ");
  });
});
