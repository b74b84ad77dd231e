import { expect, test, vi } from "vitest";
import type { WebhookRequest } from "../../src/index.js";
import { skewClues } from "../../kit/diagnosis/diagnose-signature.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { inWords } from "../../kit/duration-words.js";
import { fixtures } from "../support/fixtures.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import {
  ALARM_BODY,
  captured,
  codesOf,
  diagnose,
  EVENT,
  ID,
  NOW_MS,
  SECRET,
  TEST_SECRET,
  TIMESTAMP,
} from "./diagnosis-capture.js";

test("diagnoseSignature names the signed value of a header with two values", async () => {
  const change = { "X-Webhook-Id": `other, ${ID}` };
  const [finding] = (await diagnose({}, { change })).findings;
  expect(finding).toMatchObject({ header: "X-Webhook-Id" });
  expect(finding?.message).toMatch(/2 values.*value 2/);
});

test("diagnoseSignature finds a changed header and a changed body together", async () => {
  const change = { "X-Webhook-Timestamp": "1760000000000" };
  const codes = await codesOf({}, { change, body: `\uFEFF${ALARM_BODY}` });
  expect(codes).toEqual(["timestamp_unit", "body_bom"]);
});

test("webhook headers are found after hundreds of other header lines, up to 1 000 lines", async () => {
  const others = Array.from({ length: 990 }, (_, at) => [`x-other-${String(at)}`, "a"] as const);
  const found = { ...Object.fromEntries(others), ...(captured().headers as object) };
  expect(await codesOf({}, { headers: found })).toEqual([]);
  const many = { "x-other": Array<string>(1_000).fill("a"), ...(captured().headers as object) };
  expect(await codesOf({}, { headers: many })).toEqual(["all_headers_missing"]);
});

test.each(["X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Type", "X-Webhook-Signature"])(
  "diagnoseSignature names the missing header %s",
  async (header) => {
    const { findings } = await diagnose({}, { change: { [header]: undefined } });
    expect(findings).toMatchObject([{ code: "header_missing", header, certainty: "seen" }]);
  },
);

test("diagnoseSignature names a malformed type header, which is not signed", async () => {
  const change = { "X-Webhook-Type": "new alarm" };
  const { findings } = await diagnose({}, { change });
  expect(findings).toMatchObject([
    { code: "header_malformed", header: "X-Webhook-Type" },
    { code: "type_mismatch", header: "X-Webhook-Type" },
  ]);
  expect(findings[0]?.message).toContain("1 to 128 characters");
});

test.each([null, { Host: "a.example" }])(
  "diagnoseSignature reports one finding for the headers %j, which lack all of the webhook",
  async (headers) => {
    expect(await codesOf({}, { headers })).toEqual(["all_headers_missing"]);
  },
);

test("diagnoseSignature names an id with a colon that contains the start of the body", async () => {
  const cut = ALARM_BODY.indexOf(":");
  const change = { "X-Webhook-Id": `${ID}:${ALARM_BODY.slice(0, cut)}` };
  const { findings } = await diagnose({}, { change, body: ALARM_BODY.slice(cut + 1) });
  expect(findings).toMatchObject([
    { code: "header_malformed", header: "X-Webhook-Id" },
    { code: "body_unrecognized" },
  ]);
});

test.each([
  [-(12 * 60 + 40), "timestamp_behind", "12 min 40 s behind"],
  [-(3 * 86_400 + 7_205), "timestamp_behind", "3 days 2 h behind"],
  [601, "timestamp_ahead", "10 min 1 s ahead of"],
  [2 * 3_600 + 30, "timestamp_ahead", "local time was read as UTC"],
])("diagnoseSignature names a clock that is off by %i s", async (seconds, code, words) => {
  const timestamp = NOW_MS / 1000 + seconds;
  const { findings } = await diagnose({ timestamp: String(timestamp) });
  expect(findings).toMatchObject([{ code, certainty: "seen", skewMs: seconds * 1000 }]);
  expect(findings[0]?.message).toContain(words);
});

test("diagnoseSignature accepts a timestamp at the limit of the tolerance and at the time of capture", async () => {
  expect(await codesOf({}, { now: NOW_MS + 300_000 })).toEqual([]);
  expect(await codesOf({}, { now: NOW_MS + 300_001 })).toEqual(["timestamp_behind"]);
  expect(await codesOf({}, { now: undefined, receivedAt: new Date(NOW_MS) })).toEqual([]);
  expect(await codesOf({}, { now: undefined })).toEqual(["timestamp_behind"]);
  expect(await codesOf({}, { now: NOW_MS + 1_001, timestampToleranceMs: 1_000 })).toEqual([
    "timestamp_behind",
  ]);
});

test("diagnoseSignature reads a date without a zone as UTC, whatever the zone of the machine", async () => {
  vi.stubEnv("TZ", "Asia/Tokyo");
  expect(new Date(2025, 9, 9).getTimezoneOffset()).toBe(-540);
  const change = { "X-Webhook-Timestamp": "2025-10-09 08:53:20" };
  expect(await codesOf({}, { change })).toEqual(["timestamp_format"]);
});

/** The outcome of a receiver with the same secret, clock and size limit. */
async function outcomeOf(request: unknown, maxBodyBytes?: number): Promise<string> {
  const { receive } = recordingReceiver({ secret: SECRET, maxBodyBytes });
  return (await receive(request as WebhookRequest)).outcome;
}

test.each(["PUT", "", "post ", "\u0000"])("the diagnosis names the method %j", async (method) => {
  const options = { ...captured(), method };
  const { findings } = await diagnoseSignature(options);
  expect(findings).toMatchObject([{ code: "method_not_post", certainty: "seen" }]);
  expect(await outcomeOf(options)).toBe("method_not_allowed");
});

test.each(["POST", "post", undefined])("the method %j is accepted by both", async (method) => {
  expect(await codesOf({}, { method })).toEqual([]);
  expect(await outcomeOf({ ...captured(), method })).toBe("handled");
});

test("diagnoseSignature reports a body above maxBodyBytes and accepts one at the limit", async () => {
  const bytes = Buffer.byteLength(ALARM_BODY);
  expect(await codesOf({}, { maxBodyBytes: bytes })).toEqual([]);
  expect(await outcomeOf(captured(), bytes)).toBe("handled");
  const { findings } = await diagnose({}, { maxBodyBytes: bytes - 1 });
  expect(findings).toMatchObject([
    { code: "body_too_large", certainty: "seen", capturedBytes: bytes },
  ]);
  expect(await outcomeOf(captured(), bytes - 1)).toBe("body_too_large");
});

test.each([
  [1_048_576, []],
  [1_048_577, ["body_too_large"]],
])("diagnoseSignature has the receiver's default of maxBodyBytes: %i", async (length, codes) => {
  const body = ALARM_BODY.padEnd(length - Buffer.byteLength(ALARM_BODY) + ALARM_BODY.length);
  expect(Buffer.byteLength(body)).toBe(length);
  expect(await codesOf({ body }, { body })).toEqual(codes);
});

test("diagnoseSignature compares the signed body with maxBodyBytes, not a longer capture", async () => {
  const body = Buffer.from(ALARM_BODY).toString("base64");
  const maxBodyBytes = Buffer.byteLength(ALARM_BODY);
  expect(await codesOf({}, { body, maxBodyBytes })).toEqual(["body_base64"]);
});

test("diagnoseSignature reports method and body size in addition to an unexplained signature", async () => {
  const codes = await codesOf({ secret: "whsec_unknown" }, { method: "GET", maxBodyBytes: 1 });
  expect(codes).toEqual(["method_not_post", "body_too_large", "unexplained"]);
});

test.each([
  ["a number", Number(TIMESTAMP)],
  ["a number in a list", [Number(TIMESTAMP)]],
])("the diagnosis reports a timestamp that is %s, as a receiver does", async (_, timestamp) => {
  const options = captured();
  const headers = { ...(options.headers as object), "X-Webhook-Timestamp": timestamp };
  const header = "X-Webhook-Timestamp";
  const malformed = { code: "header_malformed", header };
  const { findings } = await diagnose({}, { headers });
  expect(findings).toMatchObject([{ ...malformed, certainty: "proven" }]);
  expect(await outcomeOf({ ...options, headers })).toBe("malformed");
  const unexplained = await diagnose({}, { headers, secret: "whsec_unknown" });
  expect(unexplained.findings).toMatchObject([malformed, { code: "unexplained" }]);
  expect(unexplained.findings[0]?.certainty).toBe("seen");
});

/** Outcomes that do not mean that the signature matched. */
const UNVERIFIED = ["malformed", "unsigned", "signature_mismatch"];
const UNHANDLED = { outcome: "unhandled", status: 200 };

test("diagnoseSignature expects the answer that each fixture of the package documents", async () => {
  for (const { name, headers, body, receivedAt, expect: documented } of fixtures) {
    const now = new Date(receivedAt);
    const diagnosis = await diagnoseSignature({ headers, body, now, secret: TEST_SECRET });
    const { answer, result, findings } = diagnosis;
    if (UNVERIFIED.includes(documented.outcome)) {
      expect(answer, name).toBeUndefined();
      continue;
    }
    expect(answer, name).toMatchObject(documented);
    expect(result, name).toBe(documented.outcome === "handled" ? "good" : "bad");
    expect(findings.length > 0, name).toBe(result === "bad");
  }
});

test.each([
  ["an alarm", ALARM_BODY, "new_alarm", UNHANDLED],
  ["an event", EVENT, "delete_my_data_event", UNHANDLED],
  [
    "an event of a type that is not documented",
    EVENT.replace("DATA_REAPPEARED", "DATA_LEFT_AGAIN"),
    "delete_my_data_event",
    { outcome: "unrecognized", status: 503 },
  ],
])(
  "diagnoseSignature says what a receiver without a handler answers to %s",
  async (_, body, type, withoutHandler) => {
    const { result, answer } = await diagnose({ body }, { change: { "X-Webhook-Type": type } });
    expect(result).toBe("good");
    expect(answer).toEqual({ outcome: "handled", status: 200, withoutHandler });
  },
);

test("diagnoseSignature expects the first refusal when there are several", async () => {
  const late = { now: NOW_MS + 301_000 };
  const stale = await diagnose({ body: '{"foo":1}' }, late);
  expect(stale.answer).toEqual({ outcome: "stale", status: 409 });
  expect(stale.findings.map(({ code }) => code)).toEqual(["timestamp_behind", "body_unrecognized"]);
  const tooLarge = await diagnose({}, { ...late, maxBodyBytes: 10, method: "PUT" });
  expect(tooLarge.answer).toEqual({ outcome: "method_not_allowed", status: 405 });
});

test("diagnoseSignature names the fields of a record that are not as documented, without their values", async () => {
  const body = ALARM_BODY.replace(/"account_id":\d+/, '"account_id":"canary"');
  const { findings } = await diagnose({ body });
  expect(findings).toMatchObject([{ code: "body_unrecognized", certainty: "seen" }]);
  expect(findings[0]?.message).toContain("alarm.account_id: ");
  expect(JSON.stringify(findings)).not.toContain("canary");
});

test("diagnoseSignature expects no answer where the signature matches only after a change", async () => {
  expect(await diagnose({}, { body: `${ALARM_BODY}\n` })).not.toHaveProperty("answer");
  expect(await diagnose({ secret: "whsec_unknown" })).not.toHaveProperty("answer");
  // No receiver starts with such a secret or tolerance.
  const spaced = " whsec_with_white_space ";
  expect(await diagnose({ secret: spaced }, { secret: spaced })).not.toHaveProperty("answer");
  expect(await diagnoseSignature({ ...captured(), timestampToleranceMs: 0 })).not.toHaveProperty(
    "answer",
  );
});

test.each([
  [0, "0 ms"],
  [-499, "499 ms"],
  [1_000, "1 s"],
  [59_600, "1 min"],
  [760_000, "12 min 40 s"],
  [3_605_000, "1 h"],
  [-7_260_000, "2 h 1 min"],
  [86_400_000, "1 day"],
  [2 * 86_400_000 + 3_600_000, "2 days 1 h"],
])("a duration of %i ms is shown as %s", (ms, words) => {
  expect(inWords(ms)).toBe(words);
});

test("a timestamp that is not a number of seconds has no clock skew", () => {
  for (const text of ["", "soon", "-5", "1".repeat(16)]) expect(skewClues(text, 0, 0)).toEqual([]);
});
