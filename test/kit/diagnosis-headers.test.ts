import { describe, expect, test } from "vitest";
import { signDelivery } from "../../src/index.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import {
  ALARM_BODY,
  captured,
  codesOf,
  diagnose,
  ID,
  macOf,
  NOW_MS,
  SECRET,
} from "./diagnosis-capture.js";
import { plantedRows } from "./planted-faults.js";

const HEX = macOf().toString("hex");

describe("changed headers", () => {
  test.each(plantedRows("headers"))(
    "diagnoseSignature finds the changed header: %s",
    async (_what, code, plant) => {
      const { result, findings } = await diagnoseSignature(plant(SECRET));
      expect(result).toBe("bad");
      expect(findings[0]).toMatchObject({ code, certainty: "proven" });
      expect(findings.filter(({ certainty }) => certainty === "possible")).toEqual([]);
    },
  );

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

  test("diagnoseSignature accepts a signature in upper case", async () => {
    const change = { "X-Webhook-Signature": `v1=${HEX.toUpperCase()}` };
    expect(await codesOf({}, { change })).toEqual([]);
  });
});

test("webhook headers are found after hundreds of other header lines, up to 1 000 lines", async () => {
  const others = Array.from({ length: 990 }, (_, at) => [`x-other-${String(at)}`, "a"] as const);
  const found = { ...Object.fromEntries(others), ...(captured().headers as object) };
  expect(await codesOf({}, { headers: found })).toEqual([]);
  const many = { "x-other": Array<string>(1_000).fill("a"), ...(captured().headers as object) };
  expect(await codesOf({}, { headers: many })).toEqual(["all_headers_missing"]);
});

describe("missing headers", () => {
  test.each(["X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Type", "X-Webhook-Signature"])(
    "diagnoseSignature names the missing header %s",
    async (header) => {
      const { result, findings } = await diagnose({}, { change: { [header]: undefined } });
      expect(result).toBe("bad");
      expect(findings).toMatchObject([{ code: "header_missing", certainty: "seen", header }]);
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

  test("diagnoseSignature reports one finding if all webhook headers are missing", async () => {
    expect(await codesOf({}, { headers: { Host: "a.example" } })).toEqual(["all_headers_missing"]);
    expect(await codesOf({}, { headers: null })).toEqual(["all_headers_missing"]);
  });
});

describe("well-signed deliveries that a receiver refuses", () => {
  const signed = async (id: string, timestamp: number, body = ALARM_BODY) => ({
    "X-Webhook-Signature": await signDelivery({ secret: SECRET, id, timestamp, body }),
  });

  test("diagnoseSignature names an id with a colon that contains the start of the body", async () => {
    const cut = ALARM_BODY.indexOf(":");
    const change = { "X-Webhook-Id": `${ID}:${ALARM_BODY.slice(0, cut)}` };
    const { findings } = await diagnose({}, { change, body: ALARM_BODY.slice(cut + 1) });
    expect(findings).toMatchObject([
      { code: "header_malformed", header: "X-Webhook-Id" },
      { code: "body_unrecognized" },
    ]);
  });

  test("diagnoseSignature names a timestamp that was signed in milliseconds", async () => {
    expect(await codesOf({ timestamp: String(NOW_MS) })).toEqual(["timestamp_unit"]);
  });

  test("diagnoseSignature names a type header that differs from the type of the signed body", async () => {
    const change = { "X-Webhook-Type": "delete_my_data_event" };
    const { result, findings } = await diagnose({}, { change });
    expect(result).toBe("bad");
    expect(findings).toMatchObject([{ code: "type_mismatch", certainty: "seen" }]);
  });

  test.each([
    [-(12 * 60 + 40), "timestamp_behind", "12 min 40 s behind"],
    [-(3 * 86_400 + 7_205), "timestamp_behind", "3 days 2 h behind"],
    [601, "timestamp_ahead", "10 min 1 s ahead of"],
    [2 * 3_600 + 30, "timestamp_ahead", "local time was read as UTC"],
  ])("diagnoseSignature names a clock that is off by %i s", async (seconds, code, words) => {
    const timestamp = NOW_MS / 1000 + seconds;
    const change = { "X-Webhook-Timestamp": String(timestamp), ...(await signed(ID, timestamp)) };
    const { findings } = await diagnose({}, { change });
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
});
