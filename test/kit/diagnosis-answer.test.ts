import { describe, expect, test, vi } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { fixtures } from "../support/fixtures.js";
import { ALARM_BODY, captured, diagnose, NOW_MS, TEST_SECRET } from "./diagnosis-capture.js";
import { EVENT } from "./planted-faults.js";

/** Outcomes that do not mean that the signature matched. */
const UNVERIFIED = ["malformed", "unsigned", "signature_mismatch"];
const UNHANDLED = { outcome: "unhandled", status: 200 };

describe("the answer to an authentic delivery", () => {
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
    expect(stale.findings.map(({ code }) => code)).toEqual([
      "timestamp_behind",
      "body_unrecognized",
    ]);
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
});

describe("timestamps", () => {
  test("diagnoseSignature reads a date without a zone as UTC, whatever the zone of the machine", async () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    try {
      expect(new Date(2025, 9, 9).getTimezoneOffset()).toBe(-540);
      const change = { "X-Webhook-Timestamp": "2025-10-09 08:53:20" };
      const { findings } = await diagnose({}, { change });
      expect(findings.map(({ code }) => code)).toEqual(["timestamp_format"]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
