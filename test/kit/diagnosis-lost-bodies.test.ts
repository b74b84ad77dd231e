import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { isCutJson } from "../../kit/diagnosis/cut-json.js";
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

  test.each([
    ["shorter", ALARM_BODY.replace("https://shop.example/å", "***")],
    ["longer", ALARM_BODY.replace("https://shop.example/å", "[this address is masked in the log]")],
  ])("a whole JSON body that is %s than Content-Length was rewritten", async (way, masked) => {
    const change = { "Content-Length": String(BYTES.length) };
    const { findings } = await diagnose({}, { body: masked, change });
    expect(findings.map(({ code }) => code)).toEqual(["body_rewritten", "unexplained"]);
    expect(findings[0]).toMatchObject({
      certainty: "possible",
      capturedBytes: Buffer.byteLength(masked),
      expectedBytes: BYTES.length,
    });
    expect(findings[0]?.message).toMatch(`bytes ${way} than`);
    expect(findings[0]?.message).toContain("rewritten after it was signed");
  });

  test("a body as long as Content-Length says points to a wrong secret", async () => {
    const change = { "Content-Length": String(BYTES.length) };
    const { findings } = await diagnose({ secret: "whsec_unknown" }, { change });
    expect(findings[0]?.message).toContain("as long as Content-Length says");
  });
});

describe("JSON that ends in the middle", () => {
  test("each beginning of a JSON text ends in the middle", () => {
    for (let length = 1; length < BYTES.length; length++) {
      expect(isCutJson(BYTES.subarray(0, length)), String(length)).toBe(true);
    }
  });

  test("a JSON text without one of its signs does not end in the middle, up to its last string", () => {
    const last = ALARM_BODY.lastIndexOf(':"');
    for (let at = 1; at < last; at++) {
      if (!/[[\]{}:,"]/.test(ALARM_BODY.charAt(at)) || ALARM_BODY.charAt(at - 1) === "\\") continue;
      const text = ALARM_BODY.slice(0, at) + ALARM_BODY.slice(at + 1);
      if (!isJson(text)) expect(isCutJson(Buffer.from(text)), String(at)).toBe(false);
    }
  });

  test.each(["", "a", "7", '"a', "{}", "[1]x", "}{", "\u0000{", "{a", '{"a":tru,', "... "])(
    "%j is not JSON that ends in the middle",
    (text) => {
      expect(isCutJson(Buffer.from(text))).toBe(false);
    },
  );

  test("a megabyte of brackets, backslashes or letters is looked at in linear time", () => {
    for (const text of ["[", "\\", "a", ".", " "]) {
      expect(typeof isCutJson(Buffer.from(`{"a":"${text.repeat(262_144)}`))).toBe("boolean");
      expect(typeof isCutJson(Buffer.from(`{${text.repeat(262_144)} `))).toBe("boolean");
    }
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
