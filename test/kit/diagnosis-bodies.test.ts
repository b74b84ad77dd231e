import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, codesOf, diagnose, SECRET } from "./diagnosis-capture.js";
import { plantedRows } from "./planted-faults.js";

const BYTES = Buffer.from(ALARM_BODY);

describe("changed bodies", () => {
  test.each(plantedRows("bodies"))(
    "diagnoseSignature finds the change of the body: %s",
    async (_what, code, plant) => {
      const { result, findings, secretIndex } = await diagnoseSignature(plant(SECRET));
      expect(result).toBe("bad");
      expect(findings).toMatchObject([{ code, certainty: "proven" }]);
      expect(secretIndex).toBe(0);
    },
  );

  test("diagnoseSignature reports where the captured and the signed body first differ, and their sizes", async () => {
    const { findings } = await diagnose({}, { body: `${ALARM_BODY}\r\n` });
    expect(findings[0]).toMatchObject({
      offsetBytes: BYTES.length,
      capturedBytes: BYTES.length + 2,
      expectedBytes: BYTES.length,
    });
  });

  test("diagnoseSignature finds a changed body and a wrong secret together", async () => {
    const secret = "whsec_of_its_own";
    const codes = await codesOf({ secret }, { secret: `${secret}\n`, body: `${ALARM_BODY}\n` });
    expect(codes).toEqual(["secret_whitespace", "body_trailing_newline"]);
  });
});
