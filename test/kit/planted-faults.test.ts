import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import type { SignatureFinding } from "../../kit/diagnosis/finding.js";
import { captured, codesOf, ID, macOf, SECRET, TEST_SECRET } from "./diagnosis-capture.js";
import { ALARM, EVENT, PLANTED_FAULTS } from "./planted-faults.js";

type Group = keyof typeof PLANTED_FAULTS;
const FAULTS = Object.entries(PLANTED_FAULTS).flatMap(([group, faults]) =>
  faults.map((fault) => ({ ...fault, group: group as Group })),
);

/** Pieces of the deliveries. A finding that quotes a part of its input has one of these. */
const CANARIES = [
  ...[SECRET, TEST_SECRET].flatMap((secret) => [secret.slice(0, 10), secret.slice(8, 16)]),
  ...["whsec_o", "whsec_n", "canary", "Ångström", "\\u00c5ngstr", "shop.example"],
  ...[String(/"account_id":\d+/.exec(ALARM)), ID.slice(0, 8), "17600000"],
  ...[macOf({ body: ALARM }), Buffer.from(SECRET)].flatMap((bytes) => [
    bytes.toString("hex").slice(0, 8),
    bytes.toString("base64").slice(0, 8),
  ]),
];

/** What the findings of a group are, where the secret is not that of the fixtures. */
const FINDINGS: Partial<Record<Group, (findings: readonly SignatureFinding[]) => void>> = {
  // One cause is one finding, although a receiver refuses such a secret as well.
  secrets: (findings) => expect(findings).toMatchObject([{ certainty: "proven", secretIndex: 0 }]),
  bodies: (findings) => expect(findings).toMatchObject([{ certainty: "proven" }]),
  headers: ([first, ...others]) => {
    expect(first).toMatchObject({ certainty: "proven" });
    expect(others.filter(({ certainty }) => certainty === "possible")).toEqual([]);
  },
  lostHeaders: ([first]) => expect(first).toMatchObject({ certainty: "seen" }),
  lostBodies: ([first]) => expect(first).toMatchObject({ certainty: "seen" }),
};

const SECRETS = [
  ["the public test secret", TEST_SECRET],
  ["a secret of one's own", SECRET],
] as const;

test("there are at least a hundred planted faults, each with a name of its own", () => {
  const names = FAULTS.map(({ group, what }) => `${group}: ${what}`);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(100);
});

describe.each(SECRETS)("planted faults with %s", (name, secret) => {
  test.each(FAULTS)(
    `diagnoseSignature names $what as $code, and quotes nothing, with ${name} ($group)`,
    async ({ group, code, plant }) => {
      const diagnosis = await diagnoseSignature(plant(secret));
      const { result, findings, secretIndex } = diagnosis;
      expect([result, findings[0]?.code]).toEqual(["bad", code]);
      const shown = JSON.stringify(diagnosis);
      expect(CANARIES.filter((canary) => shown.includes(canary))).toEqual([]);
      if (secret === TEST_SECRET) return;
      FINDINGS[group]?.(findings);
      if (group === "secrets" || group === "bodies") expect(secretIndex).toBe(0);
    },
  );

  test.each([
    ["an alarm", ALARM, "new_alarm"],
    ["an event", EVENT, "delete_my_data_event"],
  ])(`diagnoseSignature accepts %s without a fault with ${name}`, async (_, body, type) => {
    const good = captured({ secret, body }, { secret, change: { "X-Webhook-Type": type } });
    expect(await diagnoseSignature(good)).toMatchObject({ result: "good", findings: [] });
  });

  test.each([
    ["another number", ALARM.replace(/"account_id":\d+/, '"account_id":99')],
    ["a rounded number", ALARM.replace('"risk_score":12', '"risk_score":12.0')],
    ["a lost field", ALARM.replace(/"account_id":\d+,/, "")],
    ["a lost beginning", ALARM.slice(20)],
    ["another delivery", EVENT],
  ])(`diagnoseSignature names no cause for %s with ${name}`, async (_, body) => {
    expect((await codesOf({ secret, body: ALARM }, { secret, body }))[0]).toBe("unexplained");
  });

  test(`diagnoseSignature takes an unknown secret for no other cause with ${name}`, async () => {
    expect(await codesOf({ secret: "whsec_unknown" }, { secret })).toEqual(["unexplained"]);
  });
});

test("diagnoseSignature names the public test secret where another secret is in use", async () => {
  expect(await codesOf({ secret: TEST_SECRET })).toEqual(["test_secret"]);
});
