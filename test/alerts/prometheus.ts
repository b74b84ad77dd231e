import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../support/free-port.js";

/** What is missing to test rules; undefined if `prometheus` and `promtool` are on PATH. */
export const missingPrometheus: string | undefined = ["prometheus", "promtool"].every(
  (program) => spawnSync(program, ["--version"]).status === 0,
)
  ? undefined
  : "no prometheus and promtool on PATH (Debian's package prometheus has both; it need not run as a service)";

/** A Prometheus of its own, on a free port and in a folder of its own. */
export interface Prometheus {
  /** Values of the series that a query gives now, with their labels. Rejects for an invalid query. */
  readonly query: (expression: string) => Promise<readonly Sample[]>;
  /** Names of the alerts that fire now. */
  readonly firing: () => Promise<ReadonlySet<string>>;
  /** Stops it and removes its folder. */
  readonly close: () => Promise<void>;
}

/** One series of an instant query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Starts a Prometheus that scrapes `/metrics` of the ports and evaluates `rules` each second. */
export async function startPrometheus(
  ports: readonly number[],
  rules: string,
): Promise<Prometheus> {
  const folder = mkdtempSync(path.join(tmpdir(), "prometheus-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(path.join(folder, "alerts.yml"), rules);
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
  // Every JSON document is also YAML.
  writeFileSync(path.join(folder, "prometheus.yml"), JSON.stringify(configuration));
  const child = spawn(
    "prometheus",
    [
      `--config.file=${path.join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${path.join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  // Also when this process ends by an error.
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  const close = async (): Promise<void> => {
    process.off("exit", kill);
    await stop(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url, child);
  } catch (error) {
    await close();
    throw error;
  }

  const query = async (expression: string): Promise<readonly Sample[]> => {
    const response = await fetch(`${url}/api/v1/query`, {
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
    query,
    async firing() {
      const samples = await query('ALERTS{alertstate="firing"}');
      return new Set(samples.map(({ labels }) => labels["alertname"] ?? ""));
    },
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

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const answer = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (answer?.ok === true) return;
    await wait(50);
  }
  throw new Error(`prometheus ended with ${child.exitCode ?? child.signalCode}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
