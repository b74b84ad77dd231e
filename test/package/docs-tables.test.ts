import { expect, test } from "vitest";
import { LOST_WHILE } from "../../cli/doctor/closing-report.js";
import { answersPage } from "../../docs/answers-page.js";
import { optionsPage } from "../../docs/options-page.js";
import { performancePage } from "../../docs/performance-page.js";
import { proofPage } from "../../docs/proof-page.js";
import { createRandom } from "../../kit/random.js";
import { checkRetrySchedule, gapMs } from "../../kit/twin/retry-schedule.js";
import { OUTCOMES, type WebhookOutcome } from "../../src/answer/outcome.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { readMarkdown } from "../support/package/markdown.js";
import { textOf as read } from "../support/package/sources.js";

test("docs/answers.md lists every outcome with its statuses", () => {
  const written = readMarkdown("docs/answers.md")
    .table("outcome")
    .map(([outcome = "", , status, rejected]) => [/\w+/.exec(outcome)?.[0], status, rejected]);
  const actual = (Object.keys(OUTCOMES) as WebhookOutcome[]).map((outcome) => {
    const rule = OUTCOMES[outcome];
    const allow = outcome === "method_not_allowed" ? " + Allow" : "";
    const retryAfter = rule.retryAfterMs === undefined ? "" : " + Retry-After";
    const rejected = rule.rejectStatus === undefined ? "" : String(rule.rejectStatus);
    return [outcome, `${String(rule.status)}${allow}${retryAfter}`, rejected];
  });
  expect(written).toEqual(actual);
});

test("docs/answers.md says what each outcome loses that is made final, as doctor does", () => {
  const written = readMarkdown("docs/answers.md").table("made final");
  expect(Object.fromEntries(written)).toEqual(LOST_WHILE);
});

test("docs/options.md is made of the docstrings, which give the default of every whole-number option", () => {
  const page = read("docs/options.md");
  expect(optionsPage(page, read("src/options/options.ts"))).toBe(page);
  const written = Object.fromEntries(
    readMarkdown("docs/options.md")
      .table("option | default")
      .map(([name = "", value = ""]) => [
        name,
        Number(value.replace(/[(,].*/, "").replaceAll(" ", "")),
      ]),
  );
  for (const [name, { fallback }] of Object.entries(INTEGER_OPTIONS)) {
    expect(written[name], name).toBe(fallback);
  }
});

test("docs/inbox.md gives the default of every whole-number option of a queue", () => {
  const files = ["inbox", "consume", "queue-options", "pg-boss/index", "nats/index", "sqs/queue"];
  const sources = files.map((file) => read(`src/inbox/${file}.ts`)).join("\n");
  const rules = sources.matchAll(/^ {2}(\w+): \{ fallback: ([0-9A-Z_* ]+), min/gm);
  const own = Array.from(rules, ([, name = "", fallback = ""]) => [name, valueOf(fallback)]);
  const { leaseMs, retentionMs, handlerMaxMs, dependencyTimeoutMs } = INTEGER_OPTIONS;
  const shared = Object.entries({ leaseMs, retentionMs, handlerMaxMs, dependencyTimeoutMs });
  const page = readMarkdown("docs/inbox.md");
  const written = Object.fromEntries([
    ...page.table("option of `inbox`"),
    ...page.table("option of `inboxConsume`"),
    ...page.table("option of a driver").map(([name, , value]) => [name, value]),
  ]) as Readonly<Record<string, string>>;
  const expected = [...own, ...shared.map(([name, { fallback }]) => [name, fallback])];
  expect(expected.length).toBeGreaterThanOrEqual(10);
  for (const [name = "", fallback] of expected) {
    expect([name, Number(written[name]?.replaceAll(" ", ""))]).toEqual([name, fallback]);
  }
});

test("docs/performance.md has the tables of bench/results; npm run generate writes them", () => {
  const results = {
    table: read("bench/results/table.md"),
    partner: read("bench/results/partner.md"),
    stores: read("bench/results/stores.md"),
    queues: read("bench/results/queues.md"),
  };
  const page = read("docs/performance.md");
  expect(performancePage(page, results)).toBe(page);
  expect(page.match(/^\| .*\b(?:met|MISSED)\b.*\|$/gm)?.length).toBeGreaterThan(5);
});

test("the picture of docs/answers.md has the attempts of the twin's schedule", () => {
  const schedule = checkRetrySchedule();
  const random = createRandom(1);
  let seconds = 0;
  const attempts = Array.from({ length: schedule.attempts - 1 }, (_, gap) => {
    seconds += gapMs(schedule, gap + 1, random) / 1000;
    return seconds;
  });
  const drawn = read("docs/retries.svg").matchAll(
    / text-anchor="middle">((?:[0-9]+ (?:h|min|s) ?)+)<\/text>/g,
  );
  const shown = Array.from(drawn, ([, text = ""]) => secondsOf(text));
  expect(shown).toHaveLength(attempts.length);
  // The picture has whole minutes from four minutes on.
  attempts.forEach((at, index) => {
    expect(Math.abs((shown[index] ?? 0) - at)).toBeLessThanOrEqual(at < 120 ? 1 : 31);
  });
});

/** `365 * DAY_MS` as a number. */
function valueOf(written: string): number {
  return written
    .replace("DAY_MS", "86400000")
    .split("*")
    .reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
}

/** `1 h 5 min` in seconds. */
function secondsOf(text: string): number {
  const units: Readonly<Record<string, number>> = { h: 3_600, min: 60, s: 1 };
  const parts = Array.from(text.matchAll(/([0-9]+) (h|min|s)/g));
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (units[unit] ?? 0), 0);
}

test("docs/answers.md and docs/proof.md have what npm run generate makes of causes and results", () => {
  const [answers, proof] = [read("docs/answers.md"), read("docs/proof.md")];
  expect(answersPage(answers)).toBe(answers);
  const faults = read("test/faults/results.md");
  const platforms = read("test/platforms/results.md");
  expect(proofPage(proof, { faults, platforms })).toBe(proof);
});
