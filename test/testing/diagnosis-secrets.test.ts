import { describe, expect, test } from "vitest";
import { codesOf, diagnose, SECRET, TEST_SECRET } from "./diagnosis-capture.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Signed with the first, configured with the second. */
const ACCIDENTS: readonly [
  what: string,
  code: string,
  signing: string | Uint8Array,
  given: string,
][] = [
  ["a newline at the end of the given one", "secret_whitespace", SECRET, `${SECRET}\n`],
  ["CRLF at the end of the given one", "secret_whitespace", SECRET, `${SECRET}\r\n`],
  ["spaces around the given one", "secret_whitespace", SECRET, `  ${SECRET} `],
  ["a newline at the end of the registered one", "secret_whitespace", `${SECRET}\n`, SECRET],
  ["a space at the end of the registered one", "secret_whitespace", `${SECRET} `, SECRET],
  ["CRLF on one side and LF on the other", "secret_whitespace", `${SECRET}\r\n`, `${SECRET}\n`],
  ["a byte order mark", "secret_bom", SECRET, `\uFEFF${SECRET}`],
  ["a byte order mark read as Latin-1", "secret_bom", SECRET, `ï»¿${SECRET}`],
  ["a byte order mark and a newline", "secret_bom", SECRET, `\uFEFF${SECRET}\r\n`],
  ["double quotes", "secret_quoted", SECRET, `"${SECRET}"`],
  ["single quotes", "secret_quoted", SECRET, `'${SECRET}'`],
  ["quotes in the registered one", "secret_quoted", `"${SECRET}"`, SECRET],
  ["its variable's name", "secret_assignment", SECRET, `GATEWAY_WEBHOOK_SECRET=${SECRET}`],
  ["its export line", "secret_assignment", SECRET, `export SECRET="${SECRET}"\n`],
  ["two in one text", "secret_joined", SECRET, `whsec_old,${SECRET}`],
  ["two on two lines", "secret_joined", SECRET, `${SECRET}\nwhsec_old\n`],
  ["a JSON list in one text", "secret_joined", SECRET, `["whsec_old", "${SECRET}"]`],
  ["an escaped newline", "secret_escaped", SECRET, `${SECRET}\\n`],
  ["base64", "secret_encoded", SECRET, base64(SECRET)],
  ["base64 of it with a newline", "secret_encoded", SECRET, base64(`${SECRET}\n`)],
  ["base64 by the sender", "secret_encoded", base64(SECRET), SECRET],
  ["hexadecimal", "secret_encoded", SECRET, Buffer.from(SECRET).toString("hex")],
  [
    "the key of Standard Webhooks",
    "secret_encoded",
    Buffer.from(SECRET.slice(6), "base64"),
    SECRET,
  ],
  ["no whsec_ by the sender", "secret_encoded", SECRET.slice(6), SECRET],
  ["no whsec_ in the given one", "secret_encoded", SECRET, SECRET.slice(6)],
  ["percent-encoding", "secret_encoded", "a b+c/d%", encodeURIComponent("a b+c/d%")],
  ["percent-encoding by the sender", "secret_encoded", encodeURIComponent("a b/c"), "a b/c"],
  ["upper case", "secret_letter_case", SECRET, SECRET.toUpperCase()],
  [
    "another normal form",
    "secret_charset",
    "nøkkel-å".normalize("NFC"),
    "nøkkel-å".normalize("NFD"),
  ],
  ["Latin-1", "secret_charset", Buffer.from("nøkkel", "latin1"), "nøkkel"],
  ["UTF-8 read as Latin-1", "secret_charset", "nøkkel", Buffer.from("nøkkel").toString("latin1")],
];

describe("a secret that went wrong is found", () => {
  // Letter case of base64 cannot be undone, but that of one in lower case can.
  test.each(ACCIDENTS.map(([what, ...rest]) => ({ what, rest })))(
    "$what",
    async ({ what, rest }) => {
      const [code, signing, given] = rest;
      const secret = what === "upper case" ? SECRET.toLowerCase() : signing;
      const { verdict, findings, secretIndex } = await diagnose({ secret }, { secret: given });
      expect(verdict).toBe("bad");
      expect(findings[0]).toMatchObject({ code, certainty: "proven", secretIndex: 0 });
      expect(secretIndex).toBe(0);
      // One cause, one finding: that a receiver refuses the text as well is the same.
      expect(findings).toHaveLength(1);
    },
  );

  test("among several, by its place", async () => {
    const secret = ["whsec_first", `${SECRET}\n`, "whsec_third"];
    const { findings, secretIndex } = await diagnose({}, { secret });
    expect(findings[0]).toMatchObject({ code: "secret_whitespace", secretIndex: 1 });
    expect(findings[0]?.message).toMatch(/^secret\[1\] /);
    expect(secretIndex).toBe(1);
  });
});

describe("another secret is found", () => {
  test("one of several that is right makes it good, by its place", async () => {
    const secret = ["whsec_first", "whsec_second", SECRET];
    expect(await diagnose({}, { secret })).toMatchObject({
      verdict: "good",
      findings: [],
      secretIndex: 2,
    });
  });

  test("that of the other type, by its place among the others", async () => {
    const otherSecrets = ["whsec_old", "whsec_events"];
    const { verdict, findings, secretIndex } = await diagnose(
      { secret: "whsec_events" },
      { otherSecrets },
    );
    expect(verdict).toBe("bad");
    expect(findings[0]).toMatchObject({
      code: "other_secret",
      certainty: "proven",
      otherSecretIndex: 1,
    });
    expect(secretIndex).toBeUndefined();
  });

  test("the published test secret", async () => {
    expect(await codesOf({ secret: TEST_SECRET })).toEqual(["test_secret"]);
  });

  test.each(["", "undefined", "null", "None"])("none at all: %j", async (secret) => {
    expect(await codesOf({ secret })).toEqual(["secret_unset"]);
  });

  test("an unknown one is not found, and what was tried is said", async () => {
    const { verdict, findings, tried } = await diagnose({ secret: "whsec_unknown" });
    expect(verdict).toBe("bad");
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ code: "unexplained", certainty: "possible" });
    expect(findings[0]?.message).toContain(`${tried.signatures} signatures`);
    expect(findings[0]?.message).toContain("most likely the secret is wrong".slice(1));
    expect(tried.isComplete).toBe(true);
    expect(tried.signatures).toBeGreaterThan(5_000);
  });
});

describe("a secret as long as a file", () => {
  const long = "whsec_line of a file\n".repeat(500_000);

  test("is named, among the others by its place, and the right one is still found", async () => {
    const { verdict, findings } = await diagnose({ secret: "whsec_unknown" }, { secret: long });
    expect(verdict).toBe("bad");
    expect(findings.map(({ code }) => code)).toEqual([
      "secret_refused",
      "secret_long",
      "unexplained",
    ]);
    expect(findings[1]).toMatchObject({ certainty: "possible", secretIndex: 0 });
    expect(findings[2]?.message).toContain("too large to try more");
    const among = await diagnose({ secret: "whsec_unknown" }, { secret: [SECRET, long.trim()] });
    expect(among.findings[0]?.message).toMatch(/^secret\[1\] has more than 65536 characters: /);
    const secret = [long, `${SECRET}\n`];
    expect((await diagnose({}, { secret })).findings[0]).toMatchObject({
      code: "secret_whitespace",
      secretIndex: 1,
    });
  });

  test("is good where it is what signs, as for a receiver", async () => {
    const secret = long.trim();
    expect(await diagnose({ secret }, { secret })).toMatchObject({ verdict: "good", findings: [] });
  });

  test("is one of more than 65 536 characters", async () => {
    const codes = (characters: number) =>
      codesOf({ secret: "whsec_unknown" }, { secret: "s".repeat(characters) });
    expect(await codes(65_536)).not.toContain("secret_long");
    expect(await codes(65_537)).toContain("secret_long");
  });
});

describe("a secret that no receiver takes is named", () => {
  test.each(["", "undefined", "null"])("%j", async (secret) => {
    const { findings } = await diagnose({}, { secret });
    expect(findings[0]).toMatchObject({ code: "secret_unset", certainty: "seen", secretIndex: 0 });
  });

  test("that has white space and gives the signature all the same", async () => {
    const { verdict, findings, secretIndex } = await diagnose(
      { secret: `${SECRET}\n` },
      { secret: `${SECRET}\n` },
    );
    expect(verdict).toBe("bad");
    expect(findings).toMatchObject([{ code: "secret_refused", certainty: "seen" }]);
    expect(secretIndex).toBe(0);
  });

  test.each([
    ["none", [], "missing_secret"],
    ["a number", 7, "unusable_secret"],
    ["a list with a hole", [undefined], "unusable_secret"],
    ["bytes", Buffer.from(SECRET), "unusable_secret"],
  ])("and refused where it is %s", async (_, secret, code) => {
    await expect(diagnose({}, { secret: secret as unknown as string })).rejects.toMatchObject({
      name: "ConfigurationError",
      code,
    });
  });
});
