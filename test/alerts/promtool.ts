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
  const folder = mkdtempSync(path.join(tmpdir(), "promtool-"));
  try {
    const file = path.join(folder, "tests.yml");
    const document = {
      rule_files: [RULES_FILE],
      evaluation_interval: `${Math.max(...tests.map(({ everyMinutes }) => everyMinutes))}m`,
      tests: tests.map(({ name, recording, everyMinutes, expected }) => ({
        name,
        interval: `${everyMinutes}m`,
        input_series: recording.inputSeries(),
        promql_expr_test: expected.map(({ atMinute, overMinutes, alerts }) => ({
          expr: `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${overMinutes}m])) > bool 0`,
          eval_time: `${atMinute}m`,
          exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        })),
      })),
    };
    // Every JSON document is also YAML.
    writeFileSync(file, JSON.stringify(document));
    return run(["test", "rules", file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { encoding: "utf8" });
  if (status === 0) return "";
  return error === undefined ? stdout + stderr : error.message;
}
