import { createServer, type RequestListener } from "node:http";
import { pathToFileURL } from "node:url";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { monitoringPage } from "../../docs/monitoring-page.js";
import { OPTION_NAMES } from "../../src/telemetry/opentelemetry/open-telemetry.js";
import { readMarkdown } from "../support/package/markdown.js";
import { listen } from "../support/servers.js";
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
afterEach(() => {
  vi.restoreAllMocks();
});

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
  const { port } = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const receiver = { health: () => ({ status, draining }) };
  const failure = await recipe.ping(receiver, `http://127.0.0.1:${String(port)}/switch`).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { requests, failure };
}

test("the heartbeat of docs/monitoring.md calls the switch without data", async () => {
  const { requests, failure } = await ping("ok", (_request, response) => response.end("OK"));
  expect([requests, failure]).toEqual([["POST 0"], undefined]);
});

test.each([
  ["failing", false],
  ["ok", true],
] as const)(
  "the heartbeat calls no switch while the health is %s and draining is %s",
  async (status, draining) => {
    const called = await ping(status, (_request, response) => response.end(), draining);
    expect(called).toEqual({ requests: [], failure: undefined });
  },
);

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
