import { describe, expect, test } from "vitest";
import { readChunks } from "../../kit/diagnosis/http-head.js";
import { skewClues } from "../../kit/diagnosis/clock-skew.js";
import { inWords } from "../../kit/duration-words.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { readCapturedBody } from "../../kit/diagnosis/captured-body.js";
import { unexplained } from "../../kit/diagnosis/lost-body.js";
import { readWebhookHeaders } from "../../kit/diagnosis/header-readings.js";
import { ALARM_BODY, captured, codesOf, diagnose } from "./diagnosis-capture.js";

describe("durations", () => {
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
    for (const text of ["", "soon", "-5", "1".repeat(16)])
      expect(skewClues(text, 0, 0)).toEqual([]);
  });
});

describe("chunked bodies", () => {
  const bytes = (text: string) => Buffer.from(text);

  test("a chunked body is read with LF, extensions and trailers", () => {
    const whole = bytes("3\nabc\n2;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\n");
    expect(Buffer.from(readChunks(whole) ?? []).toString()).toBe("abcde");
  });

  test.each([
    "",
    "abc",
    "3\r\nab",
    "3\r\nabc",
    "3\r\nabcde\r\n",
    "x\r\n",
    "3\r\nabc\r\n",
    `${"0".repeat(200)}\n`,
  ])("%j is not a chunked body", (text) => {
    expect(readChunks(bytes(text))).toBeUndefined();
  });
});

describe("odd texts", () => {
  test.each([
    ["a broken escape of a percent-encoding", "%7B%22alarm%22%3A%E0%A4%A"],
    ["half a surrogate pair in escapes", '{"alarm":"\\ud800"}'],
    ["a form with a broken escape", "payload=%zz"],
    ["a = at the end", "abc="],
    ["quotes that do not end", '"{\\"alarm\\":1}'],
    ["an odd number of UTF-16 bytes", Buffer.of(0xff, 0xfe, 0x7b)],
    ["UTF-16 of another body", Buffer.from("{}", "utf16le")],
    ["one byte", Buffer.of(0)],
    ["only blanks", " \n\t "],
    ["only newlines", "\n\n"],
  ])("diagnoseSignature explains nothing and does not fail for %s", async (_, body) => {
    const { findings } = await diagnose({ secret: "whsec_unknown" }, { body });
    expect(findings.at(-1)).toMatchObject({ code: "unexplained", certainty: "possible" });
  });

  test.each(["%zz", "\ud800", "a\\", "=", "whsec_"])(
    "diagnoseSignature explains nothing and does not fail for the secret %j",
    async (secret) => {
      expect(await codesOf({}, { secret })).toEqual(["unexplained"]);
    },
  );

  test("diagnoseSignature finds the = that a form parser adds after the body", async () => {
    expect(await codesOf({}, { body: `${ALARM_BODY}=` })).toEqual(["body_form_encoded"]);
  });
});

test("UTF-16 of either byte order is read, and an event without a body", async () => {
  const lines = Object.entries(captured().headers as object).map(
    ([name, value]) => `${name}: ${String(value)}`,
  );
  const text = `\uFEFF${[...lines, "", ALARM_BODY].join("\n")}`;
  const { body } = parseCapturedRequest(Buffer.from(text, "utf16le").swap16());
  expect(Buffer.from(body).toString()).toBe(ALARM_BODY);
  const event = JSON.stringify({ headers: captured().headers, body: null });
  expect(await codesOf({}, parseCapturedRequest(event))).toEqual(["body_empty", "unexplained"]);
});

test("a body that is too large for a single attempt is reported", () => {
  const headers = readWebhookHeaders(Object.entries(captured().headers as Record<string, string>));
  const counts = { signatures: 0, keys: 1, prefixes: 1, bodies: 1 };
  const body = readCapturedBody("", []);
  expect(unexplained(headers, body, { ...counts, isComplete: false })).toMatchObject([
    { code: "unexplained" },
  ]);
  expect(unexplained(headers, body, { ...counts, isComplete: true })).toEqual([]);
});
