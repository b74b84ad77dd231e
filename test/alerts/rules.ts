import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The rules that users get, or those of ALERT_RULES, to compare. */
const PAGE = new URL("../../docs/monitoring/alerts.yml", import.meta.url);
export const OTHER_RULES = process.env["ALERT_RULES"];
export const RULES_FILE = OTHER_RULES ?? fileURLToPath(PAGE);
export const RULES = readFileSync(RULES_FILE, "utf8");

/** The names of the alerts, in the order of the file. */
export const ALERT_NAMES: readonly string[] = Array.from(
  RULES.matchAll(/^ +- alert: (\w+)$/gm),
  ([, name = ""]) => name,
);

/** A range, an offset or the time of `for`. */
const DURATION = /(\[|offset |for: )(\d+[smhdw])\b/g;

/**
 * The durations of the rules, and what stands for each in the proof: each is longer than those above it, in
 * the file as in the proof. The second is counted from the scrapes, one a second instead of four a minute.
 */
export const SHORTENED = new Map([
  ["1m", "2s"],
  ["5m", "10s"],
  ["10m", "15s"],
  ["15m", "17s"],
  ["20m", "18s"],
  ["30m", "20s"],
  ["1h", "25s"],
  ["3h", "30s"],
  ["12h", "40s"],
  ["1d", "50s"],
  ["1w", "75s"],
  ["2w", "85s"],
]);

/** Fifteen minutes, as the value of a metric in seconds. */
const QUARTER = / >= 900$/gm;

/** The rules with shortened durations. Nothing else is changed. Throws for a duration without a short one. */
export function shortenedRules(): string {
  const short = ` >= ${Number.parseInt(SHORTENED.get("15m") ?? "", 10)}`;
  return RULES.replaceAll(QUARTER, short).replaceAll(
    DURATION,
    (_, before: string, duration: string) => {
      const short = SHORTENED.get(duration);
      if (short === undefined) throw new Error(`SHORTENED has no ${duration}`);
      return before + short;
    },
  );
}

/** The longest range of an alert and its `for`, in shortened seconds: the window of the proof. */
export function windowSecondsOf(alert: string): number {
  const rule = ruleOf(shortenedRules(), alert);
  const ranges = Array.from(rule.matchAll(/\[(\d+)s\]/g), ([, seconds]) => Number(seconds));
  const [, wait = "0"] = /for: (\d+)s/.exec(rule) ?? [];
  const [, value = "0"] = / >= (\d+)$/m.exec(rule) ?? [];
  return Math.max(Number(value), ...ranges) + Number(wait);
}

/** The text of one rule. */
export function ruleOf(rules: string, alert: string): string {
  const [, rest] = rules.split(new RegExp(`^ +- alert: ${alert}$`, "m"));
  if (rest === undefined) throw new Error(`there is no alert ${alert}`);
  const end = rest.search(/^ +- alert: /m);
  return end === -1 ? rest : rest.slice(0, end);
}

/**
 * Thirteen ways to lose deliveries while every process runs and every health check is green, and the alert
 * that must fire for each. The unit tests plant them in recorded numbers, `npm run alerts` in a real receiver.
 */
export const SILENT_FAILURES = [
  failure("wrong-secret", "wrong secret after a deploy", "NotAuthentic"),
  failure("clock-off", "clock off by ten minutes", "ClockOff"),
  failure("no-deliveries", "no deliveries", "Silent"),
  failure("no-secret-registered", "webhook registered without a secret", "NotAuthentic"),
  failure("parser-in-front", "body parser in front", "BodyConsumed"),
  failure("store-down", "store down", "StoreFailing"),
  failure("store-slow", "store slow", "StoreFailing"),
  failure("handler-slower", "handler slower each minute", "HandlerSlow"),
  failure("event-type-fails", "handler fails for one event type", "HandlerFailing"),
  failure("dead-jobs", "dead jobs", "DeliveryLost"),
  failure("burst", "more deliveries than places", "Overloaded"),
  failure("hang-ups", "sender hangs up", "AnswerLost"),
  failure("unknown-types", "unknown event types", "UnknownType"),
];

function failure<Id extends string>(id: Id, title: string, alert: string) {
  return { id, title, alert: `GatewayWebhook${alert}` } as const;
}

export type SilentFailure = (typeof SILENT_FAILURES)[number];
export type FailureId = SilentFailure["id"];

/** Changes members of what is given. Returns what sets them back. */
export function changeFor<Part extends object>(part: Part, change: Partial<Part>): () => void {
  const before = { ...part };
  Object.assign(part, change);
  return () => {
    for (const name in change) part[name] = before[name];
  };
}
