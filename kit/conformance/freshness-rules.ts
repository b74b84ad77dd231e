import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { NamedDeliveries } from "./expectations.js";
import { deliveriesOfEachKind } from "./record-kinds.js";
import { headerOf, TYPE } from "./request-changes.js";
import { ofEachType } from "./rule-kinds.js";
import { each } from "./test-deliveries.js";
import { withTrustedHeaders } from "./trusted-headers.js";

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** For clocks that are compared without their date, half of the day, week or year. */
const SPANS: readonly (readonly [name: string, seconds: number])[] = [
  ["12 hours", 12 * HOUR],
  ["a day", DAY],
  ["7 days", 7 * DAY],
  ["365 days", 365 * DAY],
];

/** Seconds from the receiver's time, in one direction. */
const AGES: readonly (readonly [name: string, seconds: number])[] = [
  ["an hour", HOUR],
  ...SPANS.flatMap(
    ([name, seconds]) =>
      [
        [name, seconds],
        [`${name} and a minute`, seconds + 60],
        [`a minute less than ${name}`, seconds - 60],
      ] as const,
  ),
];

export const STALE_WHY =
  "Someone who captured a delivery can send it again at any time. It is handled again once its id is forgotten.";

const FRESHNESS = {
  level: "should",
  why: STALE_WHY,
  fix: "Compute the whole difference in seconds, with the date, and refuse a timestamp that is more than a few minutes from your clock (Authentication, rule 7).",
} as const;

/** A delivery that was signed long before or after the receiver's time must be refused. */
export const freshnessRules: ConformanceRules = {
  stale: {
    title: "a delivery that was signed an hour to a year ago is refused",
    ...FRESHNESS,
    refuse: async (context) => {
      const sinceEpoch = Math.floor(context.settings.now() / 1_000);
      const ages = AGES.map(([name, seconds]) => [`${name} old`, seconds] as const);
      const plain = await signedAt(context, [...ages, ["the timestamp 0", sinceEpoch]]);
      const kinds = await each(await deliveriesOfEachKind(context), async ([kind, delivery]) => {
        const type = headerOf(delivery, TYPE);
        const old = await context.deliver({ ...delivery, type, age: HOUR });
        return [`${kind}, an hour old`, old] as const;
      });
      const trusted = await withTrustedHeaders(context, async (deliver) => [
        "an hour old",
        await deliver({ age: HOUR }),
      ]);
      return [...plain, ...kinds, ...trusted];
    },
  },
  future: {
    title: "a delivery that was signed an hour to a year in the future is refused",
    ...FRESHNESS,
    refuse: (context) => {
      const ages = AGES.map(([name, seconds]) => [`${name} ahead`, -seconds] as const);
      return signedAt(context, [...ages, ["2^32 seconds ahead", -(2 ** 32)]]);
    },
  },
};

/** A delivery of each type for each age in seconds. */
function signedAt(
  context: CaseContext,
  ages: readonly (readonly [name: string, age: number])[],
): Promise<NamedDeliveries> {
  return ofEachType(context, (deliver) =>
    each(ages, async ([name, age]) => [name, await deliver({ age })] as const),
  );
}
