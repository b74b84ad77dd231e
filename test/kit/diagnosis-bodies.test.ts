import { expect, test } from "vitest";
import { readCapturedBody } from "../../kit/diagnosis/captured-body.js";
import { readWebhookHeaders } from "../../kit/diagnosis/header-readings.js";
import { isCutJson, unexplained } from "../../kit/diagnosis/lost-body.js";
import { isJson } from "../support/is-json.js";
import { ALARM_BODY, ascii, captured, codesOf, diagnose, goEscapes } from "./diagnosis-capture.js";

const BYTES = Buffer.from(ALARM_BODY);
const LENGTH = { "Content-Length": String(BYTES.length) };

/** As JavaScript writes it, but for numbers that it would change. */
const written = (indent?: number): string =>
  JSON.stringify(
    {
      alarm: {
        id: 1,
        text: `Åsa – <b>"x" & y</b> it's = a/b`,
        score: "1.50",
        big: "12345678901234567890",
        list: [1, { b: null }, []],
        none: {},
      },
    },
    null,
    indent,
  ).replace(/"([\d.]+)"/g, "$1");

const JAVASCRIPT = written();
const PYTHON_UNICODE =
  '{"alarm": {"id": 1, "text": "Åsa – <b>\\"x\\" & y</b> it\'s = a/b", "score": 1.50, "big": 12345678901234567890, "list": [1, {"b": null}, []], "none": {}}}';
const PHP_UNICODE = JAVASCRIPT.replaceAll("/", "\\/");
const GO = goEscapes(JAVASCRIPT);

/** One JSON value as different programs write it. Its numbers stay as they were sent. */
const JSON_OF = {
  javascript: JAVASCRIPT,
  python: ascii(PYTHON_UNICODE),
  pythonUnicode: PYTHON_UNICODE,
  php: ascii(PHP_UNICODE),
  phpUnicode: PHP_UNICODE,
  go: GO,
  gson: GO.replace("'", "\\u0027").replace("=", "\\u003d"),
  dotNet:
    '{"alarm":{"id":1,"text":"\\u00C5sa \\u2013 \\u003Cb\\u003E\\u0022x\\u0022 \\u0026 y\\u003C/b\\u003E it\\u0027s = a/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
  jackson: `{
  "alarm" : {
    "id" : 1,
    "text" : "Åsa – <b>\\"x\\" & y</b> it's = a/b",
    "score" : 1.50,
    "big" : 12345678901234567890,
    "list" : [ 1, {
      "b" : null
    }, [ ] ],
    "none" : { }
  }
}`,
  indentedBy4: written(4),
} as const;

type Program = keyof typeof JSON_OF;
const PROGRAMS = Object.keys(JSON_OF) as Program[];
/** Programs that write a captured body again, and sign none. */
const CAPTORS: readonly Program[] = ["gson", "dotNet", "jackson"];
const PAIRS = PROGRAMS.filter((signer) => !CAPTORS.includes(signer)).flatMap((signer) =>
  PROGRAMS.filter((captor) => captor !== signer).map((captor) => [signer, captor] as const),
);

test.each(PAIRS)("a body of %s that %s wrote again is recognized", async (signer, captor) => {
  const { findings } = await diagnose({ body: JSON_OF[signer] }, { body: JSON_OF[captor] });
  expect(findings).toMatchObject([{ code: "body_reserialised", certainty: "proven" }]);
});

test("the newline that Go's encoder adds is named", async () => {
  const { findings } = await diagnose({ body: `${JSON_OF.go}\n` }, { body: JSON_OF.jackson });
  expect(findings[0]?.code).toBe("body_reserialised");
  expect(findings[0]?.message).toMatch(/Go .*newline at its end\.$/);
});

test("an object such as req.body is recognized, with what wrote the signed body, also under a wrong secret", async () => {
  const value: unknown = { alarm: { id: 1, text: "Åsa" } };
  const python = '{"alarm": {"id": 1, "text": "\\u00c5sa"}}';
  expect(await codesOf({ body: python }, { body: value })).toEqual(["body_reserialised"]);
  const lost = await codesOf({ secret: "whsec_unknown" }, { body: value });
  expect(lost[0]).toBe("body_parsed");
});

test.each([
  ["a newline", "body_trailing_newline", ALARM_BODY, `${ALARM_BODY}\n`],
  ["JSON of another program", "body_reserialised", JSON_OF.python, JSON_OF.javascript],
])("a newline after the secret is found together with %s", async (_, code, body, sent) => {
  const secret = "whsec_of_its_own";
  const codes = await codesOf({ secret, body }, { secret: `${secret}\n`, body: sent });
  expect(codes).toEqual(["secret_whitespace", code]);
});

test("diagnoseSignature reports where the captured and the signed body first differ, and their sizes", async () => {
  const { findings } = await diagnose({}, { body: `${ALARM_BODY}\r\n` });
  expect(findings[0]).toMatchObject({
    offsetBytes: BYTES.length,
    capturedBytes: BYTES.length + 2,
    expectedBytes: BYTES.length,
  });
});

test("diagnoseSignature finds the = that a form parser adds after the body", async () => {
  expect(await codesOf({}, { body: `${ALARM_BODY}=` })).toEqual(["body_form_encoded"]);
});

test("diagnoseSignature says how many bytes of a body that was cut short arrived", async () => {
  const { findings } = await diagnose({}, { body: BYTES.subarray(0, 100), change: LENGTH });
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
  const { findings } = await diagnose({}, { body: masked, change: LENGTH });
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
  const { findings } = await diagnose({ secret: "whsec_unknown" }, { change: LENGTH });
  expect(findings[0]?.message).toContain("as long as Content-Length says");
});

test("a body with the quotes of a chat is judged without them, and then points to a wrong secret", async () => {
  const chat = ALARM_BODY.replaceAll(/"([^"]*)"/g, "“$1”");
  const { findings } = await diagnose({ secret: "whsec_unknown" }, { body: chat, change: LENGTH });
  expect(findings.map(({ code }) => code)).toEqual(["body_retyped", "unexplained"]);
  expect(findings[1]?.message).toContain("as long as Content-Length says");
});

test("a body with the quotes of a chat and with indentation is found, and both are named", async () => {
  const indented = ALARM_BODY.replaceAll(/([{,])"/g, '$1\n  "');
  const chat = indented.replaceAll(/"([^"]*)"/g, "“$1”");
  const { result, findings } = await diagnose({}, { body: chat });
  expect(result).toBe("bad");
  expect(findings.map(({ code, certainty }) => `${code} ${certainty}`)).toEqual([
    "body_retyped proven",
    "body_reserialised proven",
  ]);
});

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

test("a body that is too large for a single attempt is reported", () => {
  const headers = readWebhookHeaders(Object.entries(captured().headers as Record<string, string>));
  const counts = { signatures: 0, keys: 1, prefixes: 1, bodies: 1 };
  const body = readCapturedBody("", []);
  expect(unexplained(headers, body, { ...counts, isComplete: false })).toMatchObject([
    { code: "unexplained" },
  ]);
  expect(unexplained(headers, body, { ...counts, isComplete: true })).toEqual([]);
});
