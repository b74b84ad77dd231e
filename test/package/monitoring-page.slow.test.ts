import { type RequestListener, createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { healthTable } from "../../docs/health-table.js";
import { monitoringPage } from "../../docs/monitoring-page.js";
import { createWebhookReceiver } from "../../src/index.js";
import { HEALTH_REASONS } from "../../src/telemetry/health-reasons.js";
import { OPTION_NAMES } from "../../src/telemetry/opentelemetry/open-telemetry.js";
import { readMarkdown, sectionOf } from "../support/package/markdown.js";
import { serving } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const PAGE = readMarkdown("docs/monitoring.md");

test("docs/monitoring.md has the tables of today's metrics and attributes; npm run generate writes them", () => {
  expect(PAGE.text).toBe(monitoringPage(PAGE.text));
});

test("docs/monitoring.md has every option of openTelemetry", () => {
  const named = PAGE.table("option").flatMap(([name = ""]) => name.split(", "));
  expect(named.sort()).toEqual([...OPTION_NAMES].sort());
});

const folder = temporaryFolder();

/** Pings a switch once with the page's own code, and counts the requests that reach it. */
async function ping(status: "ok" | "failing", answer: RequestListener, draining = false) {
  const file = folder.write("heartbeat.mjs", PAGE.snippet("js", "// heartbeat.js"));
  const recipe = (await import(pathToFileURL(file).href)) as {
    ping(receiver: object, url: string): Promise<void>;
  };
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${String(request.method)} ${String(request.headers["content-length"])}`);
    answer(request, response);
  });
  const url = await serving(server);
  const receiver = { health: () => ({ status, draining }) };
  const failure = await recipe.ping(receiver, `${url}switch`).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { requests, failure };
}

test("the heartbeat of docs/monitoring.md calls the switch without data", async () => {
  const { requests, failure } = await ping("ok", (_request, response) => response.end("OK"));
  expect([requests, failure]).toEqual([["POST 0"], undefined]);
});

test("the heartbeat calls no switch while the health is failing, or the receiver drains", async () => {
  const none = { requests: [], failure: undefined };
  expect(await ping("failing", () => expect.unreachable())).toEqual(none);
  expect(await ping("ok", () => expect.unreachable(), true)).toEqual(none);
});

test("a redirect to a log-in page that answers 200 is a failed heartbeat", async () => {
  const { requests, failure } = await ping("ok", ({ url }, response) => {
    if (url === "/switch") response.writeHead(302, { location: "/log-in" });
    response.end();
  });
  expect([requests.length, failure]).toEqual([1, expect.any(TypeError)]);
});

test("a switch that refuses is a failed heartbeat", async () => {
  const { failure } = await ping("ok", (_request, response) => response.writeHead(404).end());
  expect(failure).toEqual(new Error("the switch answered 404"));
});

test("a switch that does not answer is a failed heartbeat after ten seconds", async () => {
  const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort());
  const { failure } = await ping("ok", () => undefined);
  expect(failure).toBeInstanceOf(DOMException);
  expect(timeout.mock.calls).toEqual([[10_000]]);
});

const HEALTH = sectionOf(PAGE, "## Health");

/** The cells of a Markdown table, without the spaces that align it. */
const cellsOf = (table: string): string[][] =>
  table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));

test("docs/monitoring.md has the table of docs/health-table.ts, made from the table of reasons", () => {
  const [, , ...expected] = cellsOf(healthTable().replaceAll("`", ""));
  const written = HEALTH.table("reason");
  expect(written).toEqual(expected.map((cells) => cells.slice(1, -1)));
  expect(written.map(([code]) => code)).toEqual(Object.keys(HEALTH_REASONS));
});

test("the health object on docs/monitoring.md has the members of a real one", () => {
  // documents.slow.test.ts compiles them.
  expect(HEALTH.snippets("ts").length).toBeGreaterThanOrEqual(2);
  const [shown = ""] = HEALTH.snippets("json");
  const example = JSON.parse(shown) as Record<string, object>;
  const options = { secret: "whsec_test_0123456789abcdef", handlers: { new_alarm: () => 1 } };
  const real = createWebhookReceiver(options).health() as unknown as Record<string, object>;
  expect(Object.keys(example)).toEqual(Object.keys(real));
  for (const member of ["ratios", "store", "lastAcknowledgedAt"]) {
    expect(Object.keys(example[member] ?? {})).toEqual(Object.keys(real[member] ?? {}));
  }
  const { code, advice } = (example["reasons"] as never)[0] as { code: "stale"; advice: string };
  expect(advice).toBe(HEALTH_REASONS[code].advice);
});
