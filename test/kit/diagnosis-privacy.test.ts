import { describe, expect, test } from "vitest";
import type { SignatureDiagnosis } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, diagnose, ID, macOf, SECRET, TIMESTAMP } from "./diagnosis-capture.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";

/** Pieces of the input. A finding that quoted a part of it would contain one of these. */
const CANARIES = [
  "Q2FuYXJ5",
  "whsec_Q2",
  "rotated",
  "of_the_other",
  "canary",
  "Ålarm",
  "\\u00c5larm",
  "shop.example",
  "Åsa",
  "email_hacked",
  "12345678901234567890",
  ID.slice(0, 8),
  ID.toUpperCase().slice(0, 8),
  TIMESTAMP,
  macOf().toString("hex").slice(0, 8),
  macOf().toString("base64").slice(0, 8),
  Buffer.from(SECRET).toString("base64").slice(0, 8),
];

function leaksOf(diagnosis: SignatureDiagnosis): string[] {
  const shown = JSON.stringify(diagnosis);
  return CANARIES.filter((canary) => shown.includes(canary));
}

describe("privacy", () => {
  const secrets = [`${SECRET}_rotated`, `${SECRET}\n`];
  const otherSecrets = ["whsec_of_the_other"];
  const signings = [
    {},
    { secret: SECRET },
    { secret: "whsec_of_the_other" },
    { secret: Buffer.from(SECRET).toString("base64") },
    { secret: "whsec_unknown_rotated" },
    { body: JSON.stringify(JSON.parse(ALARM_BODY), null, 2) },
  ];
  const bodies = [
    ALARM_BODY,
    `${ALARM_BODY}\n`,
    JSON.parse(ALARM_BODY) as unknown,
    ALARM_BODY.slice(1),
  ];
  const changes = [
    {},
    { "X-Webhook-Id": ID.toUpperCase() },
    { "X-Webhook-Id": `other, ${ID}`, "X-Webhook-Timestamp": `${TIMESTAMP}000` },
    { "X-Webhook-Signature": `sha256=${macOf().toString("base64")}` },
    { "X-Webhook-Signature": "v1=canary", "X-Webhook-Type": "canary" },
    { "X-Webhook-Id": undefined, "Content-Length": "7", "Content-Encoding": "canary" },
  ];

  test("a diagnosis quotes nothing of headers, body and secrets", async () => {
    const codes = new Set<string>();
    for (const signed of signings) {
      for (const body of bodies) {
        const change = changes[codes.size % changes.length] ?? {};
        const given = { secret: secrets, otherSecrets, body, change };
        const diagnosis = await diagnose(signed, given);
        expect(leaksOf(diagnosis)).toEqual([]);
        for (const { code } of diagnosis.findings) codes.add(code);
      }
    }
    for (const change of changes) {
      const diagnosis = await diagnose({}, { secret: secrets, otherSecrets, change });
      expect(leaksOf(diagnosis)).toEqual([]);
      for (const { code } of diagnosis.findings) codes.add(code);
    }
    // Otherwise the deliveries above would reach too few findings.
    expect(codes.size).toBeGreaterThan(7);
  });

  test("a refused capture is not quoted in the error", () => {
    const head = `POST /canary HTTP/1.1\r\nX-Webhook-Id: ${ID}\r\n`;
    const texts = [
      `POST /canary HTTP/1.1\r\ncanary without a colon\r\n\r\n${ALARM_BODY}`,
      head,
      ALARM_BODY,
      `{"headers": {"x-webhook-id": "${ID}"}, "body": {"canary": 1}}`,
      `{"headers": {"x-webhook-id": "${ID}"}}`,
      `{"canary": "${SECRET}"`,
    ];
    for (const text of texts) {
      let message = "";
      try {
        parseCapturedRequest(text);
      } catch (error) {
        message = String(error) + JSON.stringify(error) + String((error as Error).cause);
      }
      expect(message).toMatch(/^CaptureError: /);
      expect(CANARIES.filter((canary) => message.includes(canary))).toEqual([]);
    }
  });
});
