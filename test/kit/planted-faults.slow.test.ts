import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { captured, SECRET, TEST_SECRET } from "./diagnosis-capture.js";
import { ALARM, EVENT, PLANTED_FAULTS } from "./planted-faults.js";

const GROUPS = Object.entries(PLANTED_FAULTS);

test("there are at least a hundred planted faults, each with a name of its own", () => {
  const names = GROUPS.flatMap(([group, faults]) => faults.map(({ what }) => `${group}: ${what}`));
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(100);
});

describe.each([
  ["the public test secret", TEST_SECRET],
  ["a secret of one's own", SECRET],
])("planted faults with %s", (name, secret) => {
  test.each(GROUPS)(
    `diagnoseSignature names every planted fault of %s with ${name}`,
    async (_group, faults) => {
      const misnamed: string[] = [];
      for (const { what, code, plant } of faults) {
        const { findings } = await diagnoseSignature(plant(secret));
        const found = findings[0]?.code;
        if (found !== code) misnamed.push(`${what}: ${String(found)} in place of ${code}`);
      }
      expect(misnamed).toEqual([]);
    },
  );

  test(`diagnoseSignature accepts the same deliveries without a fault with ${name}`, async () => {
    const types = [
      [ALARM, "new_alarm"],
      [EVENT, "delete_my_data_event"],
    ] as const;
    for (const [body, type] of types) {
      const good = captured({ secret, body }, { secret, change: { "X-Webhook-Type": type } });
      expect(await diagnoseSignature(good)).toMatchObject({ result: "good", findings: [] });
    }
  });
});

test("a fixture that is signed with the public test secret is named where another secret is in use", async () => {
  const signed = { secret: TEST_SECRET, body: ALARM };
  const { findings } = await diagnoseSignature(captured(signed, { secret: SECRET, body: ALARM }));
  expect(findings.map(({ code }) => code)).toEqual(["test_secret"]);
});

describe("what cannot be named", () => {
  const changes: readonly [what: string, body: string][] = [
    ["another number", ALARM.replace(/"account_id":\d+/, '"account_id":99')],
    ["a rounded number", ALARM.replace('"risk_score":12', '"risk_score":12.0')],
    ["another letter", ALARM.replace("canary", "canbry")],
    ["a lost field", ALARM.replace(/"account_id":\d+,/, "")],
    ["a lost colon", ALARM.replace('"account_id":', '"account_id"')],
    ["a lost quote", ALARM.replace('"account_id', "account_id")],
    ["a lost comma", ALARM.replace(',"account_id', '"account_id')],
    ["lost bytes in the middle", ALARM.slice(0, 60) + ALARM.slice(90)],
    ["a lost beginning", ALARM.slice(20)],
    ["another delivery", EVENT],
  ];

  test.each([
    ["the public test secret", TEST_SECRET],
    ["a secret of one's own", SECRET],
  ])("diagnoseSignature names no cause for bytes that are lost, with %s", async (_name, secret) => {
    const named: string[] = [];
    for (const [what, body] of changes) {
      const { findings } = await diagnoseSignature(
        captured({ secret, body: ALARM }, { secret, body }),
      );
      if (findings[0]?.code !== "unexplained") named.push(`${what}: ${String(findings[0]?.code)}`);
    }
    expect(named).toEqual([]);
  });

  test("an unknown secret is not taken for any other cause", async () => {
    for (const secret of [TEST_SECRET, SECRET]) {
      const unknown = captured({ secret: "whsec_unknown", body: ALARM }, { secret, body: ALARM });
      const { findings } = await diagnoseSignature(unknown);
      expect(findings.map(({ code }) => code)).toEqual(["unexplained"]);
    }
  });
});
