import { describe, expect, test } from "vitest";
import { ALARM_BODY, codesOf, diagnose } from "./diagnosis-capture.js";

/** One JSON value as different programs write it. Its numbers stay as they were sent. */
const JSON_OF = {
  javascript:
    '{"alarm":{"id":1,"text":"Åsa – <b>\\"x\\" & y</b> it\'s = a/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
  python:
    '{"alarm": {"id": 1, "text": "\\u00c5sa \\u2013 <b>\\"x\\" & y</b> it\'s = a/b", "score": 1.50, "big": 12345678901234567890, "list": [1, {"b": null}, []], "none": {}}}',
  pythonUnicode:
    '{"alarm": {"id": 1, "text": "Åsa – <b>\\"x\\" & y</b> it\'s = a/b", "score": 1.50, "big": 12345678901234567890, "list": [1, {"b": null}, []], "none": {}}}',
  php: '{"alarm":{"id":1,"text":"\\u00c5sa \\u2013 <b>\\"x\\" & y<\\/b> it\'s = a\\/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
  phpUnicode:
    '{"alarm":{"id":1,"text":"Åsa – <b>\\"x\\" & y<\\/b> it\'s = a\\/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
  go: '{"alarm":{"id":1,"text":"Åsa – \\u003cb\\u003e\\"x\\" \\u0026 y\\u003c/b\\u003e it\'s = a/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
  gson: '{"alarm":{"id":1,"text":"Åsa – \\u003cb\\u003e\\"x\\" \\u0026 y\\u003c/b\\u003e it\\u0027s \\u003d a/b","score":1.50,"big":12345678901234567890,"list":[1,{"b":null},[]],"none":{}}}',
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
  indentedBy4: `{
    "alarm": {
        "id": 1,
        "text": "Åsa – <b>\\"x\\" & y</b> it's = a/b",
        "score": 1.50,
        "big": 12345678901234567890,
        "list": [
            1,
            {
                "b": null
            },
            []
        ],
        "none": {}
    }
}`,
} as const;

type Program = keyof typeof JSON_OF;
const PROGRAMS = Object.keys(JSON_OF) as Program[];
/** Programs that write a captured body again, and sign none. */
const CAPTORS: readonly Program[] = ["gson", "dotNet", "jackson"];
const PAIRS = PROGRAMS.filter((signer) => !CAPTORS.includes(signer)).flatMap((signer) =>
  PROGRAMS.filter((captor) => captor !== signer).map((captor) => ({ signer, captor })),
);

describe("re-serialized bodies", () => {
  test.each(PAIRS)(
    "a body signed by $signer and written again by $captor is recognized",
    async ({ signer, captor }) => {
      const { findings } = await diagnose({ body: JSON_OF[signer] }, { body: JSON_OF[captor] });
      expect(findings).toHaveLength(1);
      expect(findings[0]?.code).toBe("body_reserialised");
      expect(findings[0]?.certainty).toBe("proven");
    },
  );
});

describe("spellings", () => {
  test.each([2, 4, "\t"])(
    "a body written by JSON.stringify with %j is recognized, on either side",
    async (indent) => {
      const value: unknown = JSON.parse(
        JSON_OF.javascript.replace("1.50", "2").replace(/1\d{19}/, "3"),
      );
      const compact = JSON.stringify(value);
      const pretty = JSON.stringify(value, null, indent);
      expect(await codesOf({ body: compact }, { body: pretty })).toEqual(["body_reserialised"]);
      expect(await codesOf({ body: pretty }, { body: compact })).toEqual(["body_reserialised"]);
    },
  );

  test("escaped letters are recognized, on either side", async () => {
    const escaped = ALARM_BODY.replace(
      /[\u007f-\uffff]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    expect(await codesOf({ body: ALARM_BODY }, { body: escaped })).toEqual(["body_reserialised"]);
    expect(await codesOf({ body: escaped }, { body: ALARM_BODY })).toEqual(["body_reserialised"]);
  });

  test("the newline that Go's encoder adds is named", async () => {
    const { findings } = await diagnose({ body: `${JSON_OF.go}\n` }, { body: JSON_OF.jackson });
    expect(findings[0]?.code).toBe("body_reserialised");
    expect(findings[0]?.message).toMatch(/Go .*newline at its end\.$/);
  });

  test("an object such as req.body in place of the body is recognized", async () => {
    const value: unknown = { alarm: { id: 1, text: "Åsa" } };
    const parsed = await codesOf({ body: JSON.stringify(value) }, { body: value });
    expect(parsed).toEqual(["body_parsed"]);
    const python = '{"alarm": {"id": 1, "text": "\\u00c5sa"}}';
    expect(await codesOf({ body: python }, { body: value })).toEqual(["body_reserialised"]);
    const lost = await codesOf({ secret: "whsec_unknown" }, { body: value });
    expect(lost[0]).toBe("body_parsed");
  });

  test("a newline in the secret and a re-serialized body are found together", async () => {
    const secret = "whsec_of_its_own";
    expect(
      await codesOf(
        { secret, body: JSON_OF.python },
        { secret: `${secret}\n`, body: JSON_OF.javascript },
      ),
    ).toEqual(["secret_whitespace", "body_reserialised"]);
  });

  test("diagnoseSignature explains nothing if a value was changed", async () => {
    const changed = JSON_OF.python.replace('"id": 1', '"id": 2');
    expect(await codesOf({ body: JSON_OF.javascript }, { body: changed })).toEqual(["unexplained"]);
  });
});
