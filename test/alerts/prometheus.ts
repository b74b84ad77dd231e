import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startServer } from "../support/server-process.js";
import type { Recording } from "./recording.js";
import { RULES_FILE } from "./rules.js";

/** What is missing to test rules; undefined if `prometheus` and `promtool` are on PATH. */
export const missingPrometheus: string | undefined = ["prometheus", "promtool"].every(
  (program) => spawnSync(program, ["--version"]).status === 0,
)
  ? undefined
  : "no prometheus and promtool on PATH (Debian's package prometheus has both; it need not run as a service)";

/** A Prometheus of its own, on a free port and in a folder of its own. */
export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** One series of an instant query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Starts a Prometheus that scrapes `/metrics` of the ports and evaluates `rules` each second. */
export async function startPrometheus(ports: readonly number[], rules: string) {
  const configuration = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yml"],
    scrape_configs: [
      {
        job_name: "receiver",
        static_configs: [{ targets: ports.map((target) => `127.0.0.1:${target}`) }],
      },
    ],
  };
  const { port, close } = await startServer({
    name: "prometheus",
    command: "prometheus",
    args: (listening, folder) => [
      `--config.file=${path.join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${path.join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${listening}`,
      "--log.level=error",
    ],
    answers: async (listening) => (await fetch(`http://127.0.0.1:${listening}/-/ready`)).ok,
    prepare(folder) {
      writeFileSync(path.join(folder, "alerts.yml"), rules);
      // Every JSON document is also YAML.
      writeFileSync(path.join(folder, "prometheus.yml"), JSON.stringify(configuration));
    },
  });

  const query = async (expression: string): Promise<readonly Sample[]> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, {
      method: "POST",
      body: new URLSearchParams({ query: expression }),
    });
    const { data, error } = (await response.json()) as QueryAnswer;
    if (data === undefined) throw new Error(`${expression}: ${error ?? response.statusText}`);
    return data.result.map(({ metric, value: [, value] }) => ({
      labels: metric,
      value: Number(value),
    }));
  };
  return {
    /** Values of the series that a query gives now, with their labels. Rejects for an invalid query. */
    query,
    /** Names of the alerts that fire now. */
    async firing() {
      const samples = await query('ALERTS{alertstate="firing"}');
      return new Set(samples.map(({ labels }) => labels["alertname"] ?? ""));
    },
    /** Stops it and removes its folder. */
    close,
  };
}

interface QueryAnswer {
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [number, string];
    }[];
  };
  readonly error?: string;
}

/** The alerts that must have fired in a recording, as rows: at a minute, over the minutes before it, all of them. */
export type Expected = readonly [atMinute: number, overMinutes: number, ...alerts: string[]];

/** What promtool says against the published rules file; empty if it is valid. */
export function checkRules(): string {
  return run(["check", "rules", RULES_FILE]);
}

/** Asks promtool what the published rules make of a recording. Returns what it says against the expected alerts. */
export function testRules(recording: Recording, ...expected: readonly Expected[]): string {
  return runTest(
    recording,
    1,
    expected.map(([atMinute, overMinutes, ...alerts]) => ({
      expr: `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${overMinutes}m])) > bool 0`,
      eval_time: `${atMinute}m`,
      exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
    })),
  );
}

/** Runs `promtool test rules`. `everyMinutes`: between two scrapes of the recording. */
function runTest(
  recording: Recording,
  everyMinutes: number,
  promql_expr_test: readonly object[],
): string {
  const interval = `${everyMinutes}m`;
  const test = { interval, input_series: recording.inputSeries(), promql_expr_test };
  const folder = mkdtempSync(path.join(tmpdir(), "promtool-"));
  try {
    const file = path.join(folder, "tests.yml");
    const document = { rule_files: [RULES_FILE], evaluation_interval: interval, tests: [test] };
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
  const said = runTest(recording, everyMinutes, [...first, ...last]);
  const answers = said.split("expr:").slice(1);
  const isWhole =
    answers.length === 2 * times.length && answers.every((one) => one.includes("got: "));
  // It says no more than this of a query that takes too many samples, so that nothing seems to have fired.
  if (!isWhole) throw new Error(`promtool: ${said.slice(0, 2_000)}`);
  const got = answers.map(samplesIn);
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
