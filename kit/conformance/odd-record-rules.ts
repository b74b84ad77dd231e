import type { CaseContext } from "./case-context.js";
import type { ConformanceRules, MakeDeliveries } from "./conformance-rule.js";
import { expectAcceptedOrRetried, expectStillAccepts } from "./expectations.js";
import { FINAL_STATUSES_WHY, LENIENT_FIX, recordsWith } from "./rule-kinds.js";
import { freshSeed, sampleText, withRecordMember } from "./test-deliveries.js";

/** Deeper than the parsers of several languages go, and no problem for others. */
const NESTING = 20_000;
/** A new id that does not fit a signed 32-bit column. */
const bigId = (): number => 2 ** 31 + freshSeed();

/** Members of a record that some languages or parsers trip over, as JSON text. */
const ODD_MEMBERS: readonly (readonly [name: string, member: string])[] = [
  [
    "__proto__ and constructor as keys",
    '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
  ],
  ["a number beyond 64 bits", '"score":123456789012345678901234567890,"ratio":1e400'],
  ["a NUL in a text", '"note":"a\\u0000b"'],
  ["half of a surrogate pair", '"note":"\\ud83d"'],
  ["deep nesting", `"nested":${"[".repeat(NESTING)}${"]".repeat(NESTING)}`],
];

/** A record in an odd form that is authentic all the same must be handled or sent again. */
export const oddRecordRules: ConformanceRules = {
  odd_payload: {
    title: "an alarm whose payload is not a JSON object is handled or sent again",
    needs: ["new_alarm"],
    why: `${FINAL_STATUSES_WHY}. The payload is written by a vendor: one that is cut off or empty would cost the alarm.`,
    fix: LENIENT_FIX,
    check: odd((context) =>
      recordsWith(context, [
        ["new_alarm", "an empty payload", { payload: "" }],
        ["new_alarm", "a payload that is cut off", { payload: '{"breach":{"name":"Example Sh' }],
        ["new_alarm", 'the payload "null"', { payload: "null" }],
        ["new_alarm", 'the payload "[]"', { payload: "[]" }],
        ["new_alarm", "an object as payload", { payload: { breach: { name: "Example Shop" } } }],
      ]),
    ),
  },
  odd_values: {
    title: "a record with a new status or an id over 2^31 is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. A new status or the first id beyond 2 147 483 647 would cost every alarm from then on.`,
    fix: LENIENT_FIX,
    check: odd((context) =>
      recordsWith(context, [
        ["new_alarm", "a new status", { status: "SNOOZED" }],
        ["new_alarm", "an id over 2^31", { id: bigId() }],
        ["new_alarm", "an account_id over 2^31", { account_id: bigId() }],
        ["delete_my_data_event", "an account_id over 2^31 in an event", { account_id: bigId() }],
        ["delete_my_data_event", "a site_id over 2^31", { site_id: bigId() }],
      ]),
    ),
  },
  odd_members: {
    title: "a record with odd keys, numbers and texts is handled or sent again",
    why: `${FINAL_STATUSES_WHY}. Some parsers refuse such JSON, some end the process, and others change their own objects.`,
    fix: LENIENT_FIX,
    check: odd(({ deliver, settings: { types } }) =>
      Promise.all(
        ODD_MEMBERS.flatMap(([name, member]) =>
          types.map(async (type) => {
            const body = withRecordMember(sampleText(type), member);
            return [`${name} (${type})`, await deliver({ type, body })] as const;
          }),
        ),
      ),
    ),
  },
};

function odd(records: MakeDeliveries): (context: CaseContext) => Promise<void> {
  return async (context) => {
    await expectAcceptedOrRetried(context, await records(context));
    await expectStillAccepts(context, "these records");
  };
}
