import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CaptureError } from "../../kit/diagnosis/captured-request.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { FORMS, HEADERS, LOWER, RAW } from "./capture-forms.js";
import { ALARM_BODY, codesOf, ID, NOW_MS, SECRET } from "./diagnosis-capture.js";

test.each(FORMS)("parseCapturedRequest reads a delivery from %s", async (_, capture) => {
  const request = parseCapturedRequest(capture);
  expect(Buffer.from(request.body).toString()).toBe(ALARM_BODY);
  const { result } = await diagnoseSignature({ ...request, now: NOW_MS, secret: SECRET });
  expect(result).toBe("good");
});

const SENT = { ...LOWER, "content-length": String(Buffer.byteLength(ALARM_BODY)) };

test.each([
  ["a line of pino", JSON.stringify({ level: 30, req: { id: 1, method: "POST", headers: SENT } })],
  ["the headers in JSON", JSON.stringify(SENT)],
  ["a line of winston", JSON.stringify({ message: "webhook", ...SENT })],
  ["text before JSON", `info: webhook ${JSON.stringify(SENT)}\n`],
  ["console.log", inspect(SENT)],
  ["HAR without postData", JSON.stringify({ request: { method: "POST", headers: SENT } })],
  [
    "a parsed body",
    JSON.stringify({ req: { headers: SENT, body: JSON.parse(ALARM_BODY) as unknown } }),
  ],
])(
  "a log without the raw body is refused with where to get it, or read with the body apart: %s",
  async (_, log) => {
    expect(() => parseCapturedRequest(log)).toThrow(
      /body.*; if no log has it, lead deliveries through `identity-gateway-webhooks listen/,
    );
    const request = parseCapturedRequest(log, Buffer.from(ALARM_BODY));
    const { findings } = await diagnoseSignature({ ...request, now: NOW_MS, secret: SECRET });
    expect(findings.map(({ code }) => code)).toEqual([]);
  },
);

test("parseCapturedRequest keeps any body after the headers that Node prints", () => {
  const body = fc.uint8Array({ minLength: 1 }).filter(([first = 0]) => first > 0x3b);
  fc.assert(
    fc.property(body, fc.boolean(), (bytes, isRaw) => {
      const head = inspect(isRaw ? RAW : LOWER, { compact: false });
      const { headers, body: read } = parseCapturedRequest(
        Buffer.concat([Buffer.from(`${head}\n`), bytes]),
      );
      expect(headers[isRaw ? "X-Webhook-Id" : "x-webhook-id"]).toBe(ID);
      expect([...read]).toEqual([...bytes]);
    }),
    {
      numRuns: 1_000,
      examples: [
        [Uint8Array.of(0x5d), false],
        [Uint8Array.of(0x60), true],
      ],
    },
  );
});

test("parseCapturedRequest reads any text as a request or refuses it with a CaptureError, in linear time", () => {
  const part = fc.constantFrom(
    ..."{}[]()'\"`\\,:=>\n ".split(""),
    "x-webhook-id",
    "X-Webhook-Id: a",
    "Array",
    "curl ",
    '-Body "',
    "$([char]229)",
  );
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 40 }),
      fc.integer({ min: 1, max: 2_000 }),
      (parts, times) => {
        const startedAt = performance.now();
        try {
          parseCapturedRequest(parts.join("").repeat(times));
        } catch (error) {
          expect(error).toBeInstanceOf(CaptureError);
        }
        expect(performance.now() - startedAt).toBeLessThan(5_000);
      },
    ),
  );
});

const SIGNATURE = HEADERS["X-Webhook-Signature"] ?? "";

test.each<[string, string, Parameters<typeof codesOf>[1]]>([
  [
    "header_whitespace",
    "a quoted signature",
    { change: { "X-Webhook-Signature": `v1="${SIGNATURE.slice(3)}"` } },
  ],
  [
    "header_whitespace",
    "a signature that was folded",
    { change: { "X-Webhook-Signature": `${SIGNATURE.slice(0, 30)} ${SIGNATURE.slice(30)}` } },
  ],
  [
    "header_whitespace",
    "an id that was folded",
    { change: { "X-Webhook-Id": `${ID.slice(0, 9)} ${ID.slice(9)}` } },
  ],
  [
    "secret_whitespace",
    "a zero-width space in the secret",
    { secret: `${SECRET.slice(0, 9)}\u200b${SECRET.slice(9)}` },
  ],
  ["secret_assignment", "a semicolon after the secret", { secret: `${SECRET};` }],
  [
    "secret_assignment",
    "the JSON of Secrets Manager",
    { secret: JSON.stringify({ name: "gateway", webhook_secret: SECRET }) },
  ],
])("explain names %s for %s", async (code, _, capture) => {
  expect(await codesOf({}, capture)).toContain(code);
});
