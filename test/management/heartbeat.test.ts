import { createServer } from "node:http";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { ConfigurationError, createWebhookReceiver } from "../../src/index.js";
import { heartbeat } from "../../src/management/index.js";
import { createCollector } from "../support/collector.js";
import { delivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { listen } from "../support/servers.js";
import { thrownBy } from "../support/thrown.js";

const URL_OF_PING = "https://ping.example/0f3c";

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A receiver whose handler fails, and a heartbeat that is answered `statuses` in turn, then 200. */
function beating(
  options: Partial<Parameters<typeof heartbeat>[0]> = {},
  statuses: (number | Error)[] = [],
) {
  const collector = createCollector();
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: {
      new_alarm: () => {
        throw new Error("of a test");
      },
    },
    now: () => NOW_MS,
    ...collector.options,
  });
  const pings: string[] = [];
  const stop = heartbeat({
    receiver,
    url: URL_OF_PING,
    fetch: (url, { method, body }) => {
      pings.push(`${String(method)} ${url} ${body as string}`.trim());
      const next = statuses.shift() ?? 200;
      if (next instanceof Error) return Promise.reject(next);
      return Promise.resolve(new Response("OK", { status: next }));
    },
    ...options,
  });
  onTestFinished(stop);
  return { receiver, pings, stop, ...collector };
}

test("a heartbeat pings at once, then once each everyMs", async () => {
  const { pings } = beating({ everyMs: 30_000 });
  expect(pings).toEqual([`POST ${URL_OF_PING}`]);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(pings).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(30_001);
  expect(pings).toEqual(Array(3).fill(`POST ${URL_OF_PING}`));
});

test("a heartbeat of a failing receiver pings /fail with the codes of the reasons alone", async () => {
  const { receiver, pings } = beating({ url: `${URL_OF_PING}/?rid=7` });
  for (let i = 0; i < 5; i++) await receiver.receive(await delivery({ id: `d-${String(i)}` }));
  expect(receiver.health().status).toBe("failing");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(pings).toEqual([
    `POST ${URL_OF_PING}/?rid=7`,
    `POST ${URL_OF_PING}/fail?rid=7 handlers_failing`,
  ]);
});

test("a heartbeat that fails goes on, and the first of several failures is one warning without the URL", async () => {
  const refused = new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
  const { pings, lines } = beating({}, [404, refused, 200, refused]);
  await vi.advanceTimersByTimeAsync(4 * 60_000);
  expect(pings).toHaveLength(5);
  expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
    expect.stringContaining(
      "warn identity-gateway-webhooks: a heartbeat did not reach its URL: it was answered 404.",
    ),
    expect.stringContaining("the connection failed (ECONNREFUSED)."),
  ]);
  expect(JSON.stringify(lines)).not.toContain("ping.example");
});

test("a heartbeat ends when the receiver drains", async () => {
  const { receiver, pings } = beating();
  await vi.advanceTimersByTimeAsync(0);
  await receiver.drain();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(pings).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("the returned function ends a heartbeat, also while a ping waits for its answer", async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const { stop, lines } = beating({
    fetch: (_url, { signal }) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
  });
  stop();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  expect(lines).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a heartbeat keeps no process alive", async () => {
  vi.useRealTimers();
  const set = vi.spyOn(globalThis, "setTimeout");
  const { pings } = beating();
  await new Promise(setImmediate);
  expect(pings).toHaveLength(1);
  const timers = set.mock.results.map(({ value }) => value as NodeJS.Timeout);
  expect(timers.map((timer) => timer.hasRef())).toEqual([false]);
});

test("a heartbeat reaches a real server, and a server that does not answer in time is a failed ping", async () => {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${String(req.method)} ${String(req.url)}`);
    if (req.url === "/alive") res.end("OK");
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  const url = `http://127.0.0.1:${String(port)}`;
  const late = beating({ url: `${url}/late`, timeoutMs: 100, fetch: undefined });
  const alive = beating({ url: `${url}/alive`, fetch: undefined });
  await vi.waitUntil(() => asked.length === 2, 30_000);
  await vi.advanceTimersByTimeAsync(100);
  await vi.waitUntil(() => late.lines.length === 1, 30_000);
  expect(asked.toSorted()).toEqual(["POST /alive", "POST /late"]);
  expect(late.lines[0]?.message).toContain("no answer in time");
  expect(alive.lines).toEqual([]);
  server.closeAllConnections();
});

test.each([
  ["no receiver", { receiver: {} }, "invalid_receiver"],
  ["a URL of another scheme", { url: "ftp://ping.example" }, "invalid_option"],
  ["a URL with a password", { url: "https://u:p@ping.example" }, "invalid_option"],
  ["pings twice a second", { everyMs: 500 }, "invalid_option"],
  ["no fetch", { fetch: 5 }, "invalid_option"],
  ["an unknown option", { every: 5 }, "unknown_option"],
])("heartbeat refuses %s", (_what, wrong, code) => {
  const error = thrownBy(() => beating(wrong as Partial<Parameters<typeof heartbeat>[0]>));
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ code });
});
