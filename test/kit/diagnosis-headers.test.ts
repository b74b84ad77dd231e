import { describe, expect, test } from "vitest";
import { signDelivery } from "../../src/index.js";
import {
  ALARM_BODY,
  captured,
  codesOf,
  diagnose,
  ID,
  macOf,
  NOW_MS,
  SECRET,
  TIMESTAMP,
} from "./diagnosis-capture.js";

const HEX = macOf().toString("hex");

type Change = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The delivery as the gateway signs it, with one header changed. */
const CHANGED: readonly [what: string, code: string, change: Change][] = [
  ["id under CGI's name", "header_renamed", { "X-Webhook-Id": undefined, HTTP_X_WEBHOOK_ID: ID }],
  ["id with underscores", "header_renamed", { "X-Webhook-Id": undefined, x_webhook_id: ID }],
  ["id without X-", "header_renamed", { "X-Webhook-Id": undefined, "Webhook-Id": ID }],
  ["id twice as a list", "header_repeated", { "X-Webhook-Id": [ID, ID] }],
  ["id joined, the second signed", "header_repeated", { "X-Webhook-Id": `other, ${ID}` }],
  ["id in two cases", "header_repeated", { "x-webhook-id": "other" }],
  ["timestamp joined", "header_repeated", { "X-Webhook-Timestamp": `${TIMESTAMP}, 1760000099` }],
  [
    "signature joined",
    "header_repeated",
    { "X-Webhook-Signature": `v1=${"0".repeat(64)}, v1=${HEX}` },
  ],
  ["signature as a list", "header_repeated", { "X-Webhook-Signature": [`v1=${HEX}`, "v1=00"] }],
  ["id with a space", "header_whitespace", { "X-Webhook-Id": ` ${ID}` }],
  ["timestamp with a tab", "header_whitespace", { "X-Webhook-Timestamp": `${TIMESTAMP}\t` }],
  ["signature with CR", "header_whitespace", { "X-Webhook-Signature": `v1=${HEX}\r` }],
  ["signature in quotes", "header_whitespace", { "X-Webhook-Signature": `"v1=${HEX}"` }],
  ["no v1=", "signature_prefix", { "X-Webhook-Signature": HEX }],
  ["sha256=", "signature_prefix", { "X-Webhook-Signature": `sha256=${HEX}` }],
  ["Stripe's fields", "signature_prefix", { "X-Webhook-Signature": `t=${TIMESTAMP},v1=${HEX}` }],
  ["base64", "signature_encoding", { "X-Webhook-Signature": `v1=${macOf().toString("base64")}` }],
  [
    "base64url",
    "signature_encoding",
    { "X-Webhook-Signature": `v1=${macOf().toString("base64url")}` },
  ],
  ["cut at 50 characters", "signature_length", { "X-Webhook-Signature": `v1=${HEX}`.slice(0, 50) }],
  ["doubled", "signature_length", { "X-Webhook-Signature": `v1=${HEX}${HEX}` }],
  ["id in upper case", "id_respelled", { "X-Webhook-Id": ID.toUpperCase() }],
  ["id without dashes", "id_respelled", { "X-Webhook-Id": ID.replaceAll("-", "") }],
  ["id in braces", "id_respelled", { "X-Webhook-Id": `{${ID}}` }],
  ["timestamp in milliseconds", "timestamp_unit", { "X-Webhook-Timestamp": `${TIMESTAMP}000` }],
  ["timestamp as a date", "timestamp_format", { "X-Webhook-Timestamp": "2025-10-09T08:53:20Z" }],
  ["timestamp with decimals", "timestamp_format", { "X-Webhook-Timestamp": `${TIMESTAMP}.0` }],
  [
    "id and timestamp swapped",
    "headers_swapped",
    { "X-Webhook-Id": TIMESTAMP, "X-Webhook-Timestamp": ID },
  ],
];

describe("changed headers", () => {
  test.each(CHANGED.map(([what, code, change]) => ({ what, code, change })))(
    "diagnoseSignature finds the changed header: $what",
    async ({ code, change }) => {
      const { result, findings } = await diagnose({}, { change });
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

/** Signed in another way than the gateway signs. */
const SCHEMES: readonly [what: string, code: string, prefix: string, hash?: string][] = [
  ["no v1:", "other_scheme", `${TIMESTAMP}:${ID}:`],
  ["Standard Webhooks", "other_scheme", `${ID}.${TIMESTAMP}.`],
  ["Stripe", "other_scheme", `${TIMESTAMP}.`],
  ["Slack", "other_scheme", `v0:${TIMESTAMP}:`],
  ["GitHub", "other_scheme", ""],
  ["GitHub's old sha1", "other_scheme", "", "sha1"],
  ["order swapped", "other_scheme", `v1:${ID}:${TIMESTAMP}:`],
  ["the type signed too", "other_scheme", `v1:${TIMESTAMP}:new_alarm:${ID}:`],
  ["sha512", "other_digest", `v1:${TIMESTAMP}:${ID}:`, "sha512"],
  ["sha1", "other_digest", `v1:${TIMESTAMP}:${ID}:`, "sha1"],
];

describe("other schemes", () => {
  test.each(SCHEMES.map(([what, code, prefix, hash]) => ({ what, code, prefix, hash })))(
    "diagnoseSignature recognizes the other signing scheme: $what",
    async ({ code, prefix, hash }) => {
      const { findings } = await diagnose({ prefix, ...(hash === undefined ? {} : { hash }) });
      expect(findings[0]).toMatchObject({ code, certainty: "proven" });
    },
  );
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
