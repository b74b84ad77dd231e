import { describe, expect, test } from "vitest";
import { isCutJson } from "../../kit/diagnosis/lost-body.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, diagnose, SECRET } from "./diagnosis-capture.js";
import { isJson } from "../support/is-json.js";
import { plantedRows } from "./planted-faults.js";

const BYTES = Buffer.from(ALARM_BODY);

describe("lost bodies", () => {
  test.each(plantedRows("lostBodies"))(
    "diagnoseSignature names a body whose bytes are lost: %s",
    async (_what, code, plant) => {
      const { result, findings } = await diagnoseSignature(plant(SECRET));
      expect(result).toBe("bad");
      expect(findings[0]).toMatchObject({ code, certainty: "seen" });
    },
  );

  test("diagnoseSignature says how many bytes of a body that was cut short arrived", async () => {
    const change = { "Content-Length": String(BYTES.length) };
    const { findings } = await diagnose({}, { body: BYTES.subarray(0, 100), change });
    expect(findings[0]).toMatchObject({ capturedBytes: 100, expectedBytes: BYTES.length });
  });

  test("diagnoseSignature says where invalid UTF-8 was replaced", async () => {
    const body = Buffer.from('{"alarm":"åä"}', "latin1");
    const { findings } = await diagnose({ body }, { body: '{"alarm":"\uFFFD\uFFFD"}' });
    expect(findings[0]).toMatchObject({ code: "body_replacement_characters", offsetBytes: 10 });
  });

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
