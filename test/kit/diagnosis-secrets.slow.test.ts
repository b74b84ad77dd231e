import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { codesOf, diagnose, SECRET, TEST_SECRET } from "./diagnosis-capture.js";
import { plantedRows } from "./planted-faults.js";

describe("damaged secrets", () => {
  test.each(plantedRows("secrets"))(
    "diagnoseSignature finds what happened to the secret: %s",
    async (_what, code, plant) => {
      const { result, findings, secretIndex } = await diagnoseSignature(plant(SECRET));
      expect(result).toBe("bad");
      expect(findings[0]).toMatchObject({ code, certainty: "proven", secretIndex: 0 });
      expect(secretIndex).toBe(0);
      // One cause is one finding, although a receiver refuses this secret as well.
      expect(findings).toHaveLength(1);
    },
  );

  test("diagnoseSignature names the index of a damaged secret among several", async () => {
    const secret = ["whsec_first", `${SECRET}\n`, "whsec_third"];
    const { findings, secretIndex } = await diagnose({}, { secret });
    expect(findings[0]).toMatchObject({ code: "secret_whitespace", secretIndex: 1 });
    expect(findings[0]?.message).toMatch(/^secret\[1\] /);
    expect(secretIndex).toBe(1);
  });
});

describe("other secrets", () => {
  test("diagnoseSignature accepts a delivery if one of several secrets matches, and names its index", async () => {
    const secret = ["whsec_first", "whsec_second", SECRET];
    expect(await diagnose({}, { secret })).toMatchObject({
      result: "good",
      findings: [],
      secretIndex: 2,
    });
  });

  test("diagnoseSignature finds the secret of the other type in otherSecrets and names its index", async () => {
    const otherSecrets = ["whsec_old", "whsec_events"];
    const { result, findings, secretIndex } = await diagnose(
      { secret: "whsec_events" },
      { otherSecrets },
    );
    expect(result).toBe("bad");
    expect(findings[0]).toMatchObject({
      code: "other_secret",
      certainty: "proven",
      otherSecretIndex: 1,
    });
    expect(secretIndex).toBeUndefined();
  });

  test("diagnoseSignature recognizes the published test secret", async () => {
    expect(await codesOf({ secret: TEST_SECRET })).toEqual(["test_secret"]);
  });

  test.each(["", "undefined", "null", "None"])(
    "diagnoseSignature recognizes a sender that signed with the unset secret %j",
    async (secret) => {
      expect(await codesOf({ secret })).toEqual(["secret_unset"]);
    },
  );

  test("diagnoseSignature cannot find an unknown secret and reports what it tried", async () => {
    const { result, findings, tried } = await diagnose({ secret: "whsec_unknown" });
    expect(result).toBe("bad");
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ code: "unexplained", certainty: "possible" });
    expect(findings[0]?.message).toContain(`${tried.signatures} signatures`);
    expect(findings[0]?.message).toContain("most likely the secret is wrong".slice(1));
    expect(tried.isComplete).toBe(true);
    expect(tried.signatures).toBeGreaterThan(1_000);
  });
});

describe("a secret as long as a file", () => {
  const long = "whsec_line of a file\n".repeat(500_000);

  test("diagnoseSignature names a secret as long as a file and still finds the right one beside it", async () => {
    const { result, findings } = await diagnose({ secret: "whsec_unknown" }, { secret: long });
    expect(result).toBe("bad");
    expect(findings.map(({ code }) => code)).toEqual(["secret_refused", "unexplained"]);
    expect(findings[1]?.message).toContain("too large to try more");
    const secret = [long, `${SECRET}\n`];
    expect((await diagnose({}, { secret })).findings[0]).toMatchObject({
      code: "secret_whitespace",
      secretIndex: 1,
    });
  });

  test("diagnoseSignature accepts a secret as long as a file if it signs, as a receiver does", async () => {
    const secret = long.trim();
    expect(await diagnose({ secret }, { secret })).toMatchObject({ result: "good", findings: [] });
  });
});

describe("refused secrets", () => {
  test.each(["", "undefined", "null"])(
    "diagnoseSignature names the secret %j, which no receiver accepts",
    async (secret) => {
      const { findings } = await diagnose({}, { secret });
      expect(findings[0]).toMatchObject({
        code: "secret_unset",
        certainty: "seen",
        secretIndex: 0,
      });
    },
  );

  test("diagnoseSignature names a secret with white space even if it gives the signature", async () => {
    const { result, findings, secretIndex } = await diagnose(
      { secret: `${SECRET}\n` },
      { secret: `${SECRET}\n` },
    );
    expect(result).toBe("bad");
    expect(findings).toMatchObject([{ code: "secret_refused", certainty: "seen" }]);
    expect(secretIndex).toBe(0);
  });

  test.each([
    ["none", [], "missing_secret"],
    ["a number", 7, "unusable_secret"],
    ["a list with a hole", [undefined], "unusable_secret"],
    ["bytes", Buffer.from(SECRET), "unusable_secret"],
  ])("diagnoseSignature refuses a secret that is %s", async (_, secret, code) => {
    await expect(diagnose({}, { secret: secret as unknown as string })).rejects.toMatchObject({
      name: "ConfigurationError",
      code,
    });
  });
});
