import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { startServer } from "../support/server-process.js";

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
