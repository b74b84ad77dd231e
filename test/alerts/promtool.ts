import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Recording } from "./recording.js";
import { RULES_FILE } from "./rules.js";

/** A recording, and the alerts that must have fired in it at some minutes. */
export interface RuleTest {
  readonly name: string;
  readonly recording: Recording;
  /** Minutes between two scrapes of the recording. */
  readonly everyMinutes: number;
  readonly expected: readonly {
    readonly atMinute: number;
    /** How far back it looks. */
    readonly overMinutes: number;
    /** All alerts that have fired then. */
    readonly alerts: readonly string[];
  }[];
}

/** What promtool says against the published rules file; empty if it is valid. */
export function checkRules(): string {
  return run(["check", "rules", RULES_FILE]);
}

/** Runs `promtool test rules` on the published rules. Returns what it says against them; empty if all is as expected. */
export function testRules(tests: readonly RuleTest[]): string {
  return runTests(
    tests.map(({ name, recording, everyMinutes, expected }) => ({
      name,
      interval: `${everyMinutes}m`,
      input_series: recording.inputSeries(),
      promql_expr_test: expected.map(({ atMinute, overMinutes, alerts }) => ({
        expr: `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${overMinutes}m])) > bool 0`,
        eval_time: `${atMinute}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      })),
    })),
    Math.max(...tests.map(({ everyMinutes }) => everyMinutes)),
  );
}

function runTests(tests: readonly object[], everyMinutes: number): string {
  const folder = mkdtempSync(path.join(tmpdir(), "promtool-"));
  try {
    const file = path.join(folder, "tests.yml");
    const document = { rule_files: [RULES_FILE], evaluation_interval: `${everyMinutes}m`, tests };
    // Every JSON document is also YAML.
    writeFileSync(file, JSON.stringify(document));
    return run(["test", "rules", file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An alert that fired, with the minutes at which it was first and last seen. */
export interface FiredAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly first: number;
  readonly last: number;
}

/**
 * The alerts that begin to fire in each of some times, in minutes. promtool only compares, so nothing is expected,
 * and its complaint has what it got.
 */
export function firedIn(
  recording: Recording,
  everyMinutes: number,
  times: readonly { readonly from: number; readonly to: number }[],
): readonly (readonly FiredAlert[])[] {
  const [first = [], last = []] = ["min", "max"].map((edge) => {
    const firing = `timestamp(ALERTS{alertstate="firing"})`;
    return times.map(({ from, to }) => ({
      expr: `${edge}_over_time(${firing}[${to - from}m:${everyMinutes}m]) unless (ALERTS{alertstate="firing"} offset ${to - from}m) + 0 * ${from}`,
      eval_time: `${to}m`,
      exp_samples: [{ labels: "{}", value: 0 }],
    }));
  });
  const said = runTests(
    [
      {
        name: "month",
        interval: `${everyMinutes}m`,
        input_series: recording.inputSeries(),
        promql_expr_test: [...first, ...last],
      },
    ],
    everyMinutes,
  );
  const got = said.split("expr:").slice(1).map(samplesIn);
  return times.map((_, at) => {
    const ends = got[at + times.length] ?? [];
    return (got[at] ?? []).map(({ labels, value }) => ({
      labels,
      first: value / 60,
      last: (ends.find((end) => same(end.labels, labels))?.value ?? value) / 60,
    }));
  });
}

function same(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What promtool got for one expression: `{a="b"} 1E+00, …`. */
function samplesIn(
  complaint: string,
): readonly { labels: Record<string, string>; value: number }[] {
  const [, got = ""] = /got: (.*)/.exec(complaint) ?? [];
  return Array.from(got.matchAll(/\{([^}]*)\} ([-+0-9.E]+)/g), ([, labels = "", value]) => ({
    labels: Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key = "", value = ""]) => [key, value]),
    ),
    value: Number(value),
  }));
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { encoding: "utf8" });
  if (status === 0) return "";
  return error === undefined ? stdout + stderr : error.message;
}
