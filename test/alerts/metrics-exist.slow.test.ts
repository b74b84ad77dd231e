import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createWebhookReceiver, memoryStore, metricsText } from "../../src/index.js";
import { inbox } from "../../src/inbox/index.js";
import { openTelemetry } from "../../src/telemetry/opentelemetry/index.js";
import { sampleAlarm, signedDelivery, TEST_SECRET } from "../../kit/index.js";
import { describeService } from "../support/describe-service.js";
import { readMarkdown } from "../support/package/markdown.js";
import { listen, type RunningServer } from "../support/servers.js";
import { inMemorySdk } from "../support/telemetry/in-memory.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { missingPrometheus, startPrometheus, type Prometheus } from "./prometheus.js";
import { RULES } from "./rules.js";
import { calledWorker } from "../support/inbox/called-worker.js";

const folder = temporaryFolder();

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

const DASHBOARD = readFileSync(
  fileURLToPath(new URL("../../docs/monitoring/dashboard.json", import.meta.url)),
  "utf8",
);
const QUERIES = (JSON.parse(DASHBOARD) as Dashboard).panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

/** A receiver and a worker with `/opentelemetry`, whose metrics Prometheus can scrape. */
function measuredApp() {
  const sdk = inMemorySdk();
  const telemetry = openTelemetry({ meterProvider: sdk.meterProvider, spans: false });
  const store = memoryStore();
  let fails = false;
  const failEachOther = () => {
    fails = !fails;
    if (fails) throw new Error("made up");
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    telemetry,
    logger: false,
    // Only asynchronous calls are timed.
    store: {
      claim: async (...args) => store.claim(...args),
      renew: async (...args) => store.renew(...args),
      complete: async (...args) => store.complete(...args),
      release: async (...args) => store.release(...args),
    },
    handlers: { new_alarm: failEachOther },
  });
  const work = calledWorker({ handlers: { new_alarm: () => undefined }, telemetry, logger: false });
  const driver = { put: work, waiting: () => Promise.resolve({ count: 0, oldestMs: 0, dead: 0 }) };
  const withInbox = createWebhookReceiver({
    secret: TEST_SECRET,
    telemetry,
    logger: false,
    handlers: inbox({ driver, telemetry }),
  });
  return {
    prometheusText: () => sdk.prometheusText(),
    receiverText: () => metricsText(receiver, { drivers: [driver] }),
    deliver: async () => {
      const alarm = { ...sampleAlarm(), created_at: new Date().toISOString() };
      const delivery = await signedDelivery({ secret: TEST_SECRET, alarm });
      await Promise.all([receiver.receive(delivery), withInbox.receive(delivery)]);
    },
  };
}

/** What docs/monitoring/gateway-webhook-job leaves to a textfile collector, after a command that exits with 1. */
function jobText(): string {
  const job = folder.write("job", readMarkdown("docs/monitoring/gateway-webhook-job").text);
  folder.write("npx", "#!/bin/sh\nexit 1\n", 0o700);
  const env = { PATH: `${folder.at()}:${process.env["PATH"] ?? ""}`, TEXTFILES: folder.at() };
  expect(spawnSync("sh", [job, "check"], { env }).status).toBe(1);
  return readFileSync(folder.at("gateway-webhook-check.prom"), "utf8");
}

it("gateway-webhook-job leaves its exit code as a metric", () => {
  expect(jobText()).toMatch(
    /^gateway_webhook_check_exit_code\{command="check"\} 1\ngateway_webhook_check_finished_seconds\{command="check"\} \d{10}\n$/,
  );
});

it.each(["the exporter of OpenTelemetry", "metricsText"])(
  "every metric of the rules, the dashboard and the page is in the text of %s",
  async (source) => {
    const { deliver, prometheusText, receiverText } = measuredApp();
    for (let count = 0; count < 2; count++) await deliver();
    const isExporter = source !== "metricsText";
    const text = (await (isExporter ? prometheusText() : receiverText())) + jobText();
    const exported = new Set<string>(text.match(/\bgateway_webhook_\w+/g) ?? []);
    const named = [RULES, DASHBOARD, readMarkdown("docs/monitoring.md").text].flatMap(
      (document) => document.match(/\bgateway_webhook_(?:\w|\(_seconds\)\?)+/g) ?? [],
    );
    const missing = [...new Set(named)].filter((name) => {
      const pattern = new RegExp(`^${name}`);
      return ![...exported].some((one) => pattern.test(one));
    });
    expect(exported.size).toBeGreaterThan(15);
    // Runs of jobs are counted by the telemetry of a worker. Its queue is in the text of both.
    const ofWorkers = ["gateway_webhook_jobs_total", "gateway_webhook_jobs_dead_total"];
    expect(missing.filter((name) => isExporter || !ofWorkers.includes(name))).toEqual([]);
  },
);

describeService("the dashboard", missingPrometheus, () => {
  const { deliver, prometheusText } = measuredApp();
  let server: RunningServer;
  let prometheus: Prometheus;
  let traffic: NodeJS.Timeout;

  beforeAll(async () => {
    server = await listen(
      createServer((_req, res) => {
        void prometheusText().then((text) => res.end(text));
      }),
    );
    prometheus = await startPrometheus([server.port], RULES);
    traffic = setInterval(() => void deliver(), 100);
  });

  afterAll(async () => {
    clearInterval(traffic);
    await prometheus.close();
    await server.close();
  });

  it.each(QUERIES)("$title: $expr returns series", async ({ expr }) => {
    const query = expr.replaceAll("$__rate_interval", "10s").replaceAll("$job", ".+");
    expect(query).not.toContain("$");
    await expect
      .poll(async () => {
        const samples = await prometheus.query(query);
        return samples.length > 0 && samples.some(({ value }) => Number.isFinite(value));
      })
      .toBe(true);
  });
});
