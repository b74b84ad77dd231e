import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ALARM_BODY, diagnose } from "./diagnosis-capture.js";

const BYTES = Buffer.from(ALARM_BODY);

interface Lost {
  readonly what: string;
  readonly code: string;
  readonly captured: unknown;
  readonly signed?: string | Uint8Array;
  readonly headers?: Record<string, string>;
  readonly details?: object;
}

/** Bodies that show that the signed bytes are lost. */
const LOST: readonly Lost[] = [
  { what: "nothing left", code: "body_empty", captured: "" },
  { what: "no body given", code: "body_empty", captured: undefined },
  { what: "what Express 4 leaves", code: "body_empty", captured: "{}" },
  { what: "an object as text", code: "body_object_text", captured: "[object Object]" },
  {
    what: "cut short",
    code: "body_truncated",
    captured: BYTES.subarray(0, 100),
    headers: { "Content-Length": String(BYTES.length) },
    details: { capturedBytes: 100, expectedBytes: BYTES.length },
  },
  {
    what: "grown",
    code: "body_extra_bytes",
    captured: `x${ALARM_BODY}`,
    headers: { "Content-Length": String(BYTES.length) },
  },
  {
    what: "invalid UTF-8 replaced",
    code: "body_replacement_characters",
    captured: '{"alarm":"\uFFFD\uFFFD"}',
    signed: Buffer.concat([Buffer.from('{"alarm":"'), Buffer.of(0xe5, 0xe4), Buffer.from('"}')]),
    details: { offsetBytes: 10 },
  },
  { what: "gzip cut short", code: "body_compressed", captured: gzipSync(BYTES).subarray(0, 60) },
  {
    what: "decompressed",
    code: "body_compressed",
    captured: ALARM_BODY,
    signed: gzipSync(BYTES),
    headers: { "Content-Encoding": "gzip" },
  },
];

describe("lost bodies", () => {
  test.each(LOST)(
    "diagnoseSignature names a body whose bytes are lost: $what",
    async ({ code, captured, signed = ALARM_BODY, headers = {}, details }) => {
      const { result, findings } = await diagnose(
        { body: signed },
        { body: captured, change: headers },
      );
      expect(result).toBe("bad");
      expect(findings[0]).toMatchObject({ code, certainty: "seen", ...details });
    },
  );

  test("a body as long as Content-Length says points to a wrong secret", async () => {
    const change = { "Content-Length": String(BYTES.length) };
    const { findings } = await diagnose({ secret: "whsec_unknown" }, { change });
    expect(findings[0]?.message).toContain("as long as Content-Length says");
  });
});
