import type { Alarm, AlarmEventType } from "../../src/records/alarm.js";
import { createRandom, type Random } from "../random.js";
import { BREACH_KINDS, BUREAU_KINDS, type SampleAlarmKind } from "./sample-alarm-kinds.js";
import { checkSampleOptions, type SampleOptions } from "./sample-options.js";
import { sampleSubject } from "./sample-subject.js";
import { sampleMoment, secondsBefore, writeTime } from "./sample-times.js";

const KINDS = [...BREACH_KINDS, ...BUREAU_KINDS];

/**
 * The documented `event_type` values of an alarm, in the order of the gateway's document.
 *
 * @experimental
 */
export const ALARM_EVENT_TYPES: readonly AlarmEventType[] = KINDS.map(
  ({ event_type }) => event_type,
);

/**
 * A synthetic alarm as the gateway could send it. Text, `payload`, `severity` and `category_id` fit its `event_type`.
 * Each call without a seed gives another `id` and `original_event_id`; so does each seed, with one of the documented
 * event types. A made-up `id` or `account_id` is from 2 000 000 000 to 2 147 483 647.
 *
 * ```ts
 * sampleAlarm({ event_type: "iban_hacked", account_id: 42 }, { seed: 7 });
 * ```
 *
 * Overrides appear in the record unchanged, and the other fields fit them: `event_type` decides `source` and
 * `category_id`, and one of those alone picks an event type that has it. Undocumented values of `event_type` and
 * `source` are accepted.
 *
 * @throws ConfigurationError for an option that cannot work.
 */
export function sampleAlarm(overrides: Partial<Alarm> = {}, options: SampleOptions = {}): Alarm {
  const { seed, format = "legacy", id, accountOf } = checkSampleOptions("sampleAlarm", options);
  const random = createRandom(seed);
  const kind = kindOf(overrides, random);
  const { text, payload } = kind.describe(sampleSubject(random), random);
  const created = sampleMoment(random);
  const checked = secondsBefore(created, 1 + random.below(60));
  const createdAt = writeTime(created, format);
  return {
    id,
    text,
    account_id: accountOf(random.below(100_000)),
    severity: kind.severity,
    // The gateway sends a webhook when it creates an alarm, so the alarm is never closed.
    status: "NEW",
    ...namesOf(overrides, kind),
    category_id: kind.category_id,
    original_event_id: `sample-${String(overrides.id ?? id)}`,
    payload: JSON.stringify(payload),
    date: writeTime(secondsBefore(checked, random.below(86_400)), format),
    checked_at: writeTime(checked, format),
    created_at: createdAt,
    updated_at: createdAt,
    ...overrides,
  };
}

function kindOf({ event_type, source, category_id }: Partial<Alarm>, random: Random) {
  if (event_type !== undefined) {
    const similar = event_type.startsWith("Bureau") ? BUREAU_KINDS : BREACH_KINDS;
    return KINDS.find((kind) => kind.event_type === event_type) ?? random.pick(similar);
  }
  const ofSource = KINDS.filter((kind) => kind.source === (source ?? kind.source));
  // An undocumented source is a bureau: there is only one breach database.
  if (ofSource.length === 0) return random.pick(BUREAU_KINDS);
  const ofBoth = ofSource.filter((kind) => kind.category_id === (category_id ?? kind.category_id));
  return random.pick(ofBoth.length === 0 ? ofSource : ofBoth);
}

/** A bureau's alarm has the same value in both fields, documented or not. */
function namesOf({ event_type, source }: Partial<Alarm>, kind: SampleAlarmKind) {
  const isBureaus = kind.source !== "BreachDb";
  return {
    source: source ?? (isBureaus ? event_type : undefined) ?? kind.source,
    event_type: event_type ?? (isBureaus ? source : undefined) ?? kind.event_type,
  };
}
