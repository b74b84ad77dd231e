import http from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import { createStyle } from "../../cli/terminal/command-io.js";
import { createProgressBar } from "../../cli/terminal/progress-bar.js";
import { runCommand, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";

afterEach(() => {
  vi.useRealTimers();
});

/** The progress of a run of three steps, of which one has ended, in 25 seconds. */
function shownIn25Seconds(isTTY: boolean, total = 3): readonly string[] {
  vi.useFakeTimers();
  const written: string[] = [];
  const write = (text: string): unknown => written.push(text);
  const bar = createProgressBar(
    { write, isTTY, columns: isTTY ? 60 : undefined, style: createStyle(false) },
    total,
  );
  bar.advance("2 failed; stale, future");
  vi.advanceTimersByTime(25_000);
  bar.end();
  vi.advanceTimersByTime(60_000);
  return written;
}

test("the progress on a terminal shows each second that the run goes on, and ends with it", () => {
  const shown = shownIn25Seconds(true);
  expect(shown).toHaveLength(2 + 25 + 1);
  expect(shown.at(-2)).toBe("\r\u001b[2K████████░░░░░░░░░░░░░░░░ 1/3 25 s 2 failed; stale, future");
});

test("the progress in a pipe is a line every ten seconds", () => {
  expect(shownIn25Seconds(false)).toEqual([
    "1/3 10 s 2 failed; stale, future\n",
    "1/3 20 s 2 failed; stale, future\n",
  ]);
});

/** An endpoint that answers when it holds so many requests or no other one comes, and the most that it has held. */
async function holdingEndpoint(wanted: number) {
  const held: http.ServerResponse[] = [];
  let most = 0;
  const answerAll = (): void => {
    for (const res of held.splice(0)) res.end();
  };
  const server = http.createServer((req, res) => {
    req.resume();
    most = Math.max(most, held.push(res));
    if (most > wanted || held.length === wanted) answerAll();
    else setTimeout(answerAll, 700);
  });
  return { url: await serving(server), most: () => most };
}

test.each([
  [1, ["--concurrency", "1"]],
  [4, []],
])("doctor runs %i cases at the same time with the options %j", async (most, options) => {
  const endpoint = await holdingEndpoint(most);
  // Of one request each.
  const ids = ["chunked", "minute_old", "seconds_ahead", "nested_text"];
  const only = ids.flatMap((id) => ["--only", id]);
  await runCommand(["doctor", endpoint.url, ...only, ...options]);
  expect(endpoint.most()).toBe(most);
});

test.each([[[]], [["--failed-only"]]])(
  "Ctrl-C shows what was judged, and that the run was cut off: doctor %j",
  async (options) => {
    const { url, onRequest } = await answeringEndpoint({ status: 200 });
    const argv = ["doctor", url, "--group", "forgery", "--concurrency", "1", ...options];
    const command = startCommand(argv);
    onRequest((count) => {
      if (count === 30) command.interrupt();
    });
    expect(await command.exitCode).toBe(130);
    expect(command.stdout()).toMatch(
      /✗ .*must, \w+.\n[^]*\n✗ \d+ passed, \d+ failed that must pass.*, cut off before \d+ cases had ended\n$/m,
    );
  },
);

test("Ctrl-C leaves a whole JSON document that says how many cases have not run", async () => {
  const { url, onRequest } = await answeringEndpoint({ status: 200 });
  const command = startCommand(["doctor", url, "--group", "forgery", "--json"]);
  onRequest((count) => {
    if (count === 30) command.interrupt();
  });
  expect(await command.exitCode).toBe(130);
  const report = JSON.parse(command.stdout()) as { cases: unknown[]; notRun: number };
  expect(report).toMatchObject({ passed: false, notProven: [] });
  expect(report.cases.length).toBeGreaterThan(0);
  expect(report.notRun).toBeGreaterThan(0);
});

test("on a terminal doctor shows only what failed, with what to change first on top and at the end", async () => {
  const { url } = await receivingEndpoint("reject");
  const world = { isTTY: true, env: { NO_COLOR: "1" } };
  const short = await runCommand(`doctor ${url} --group retries`, world);
  expect(short.stdout).toMatch(/^http.*\n\nChange first\n[^]*\nretries\n[^]*\nChange first\n/);
  const [cases] = short.stdout.split("\nleft behind:\n");
  expect(cases).not.toMatch(/^ {2}[✓–~] (?!that|which)/m);
  expect(short.stdout).toContain("Only what failed is shown: --all shows every case.");
  const all = await runCommand(`doctor ${url} --group retries --all`, world);
  expect(all.stdout).toMatch(/^ {2}✓ /m);
  const pipe = await runCommand(`doctor ${url} --group retries`);
  expect(pipe.stdout).toMatch(/^ {2}✓ /m);
});

test("a reason that several failed cases share is printed once", async () => {
  const { url } = await answeringEndpoint({ status: 200 });
  const { stdout } = await runCommand(`doctor ${url} --group forgery`);
  const reason = /why +Anyone who finds the URL can invent alarms/g;
  expect(stdout.match(reason)).toHaveLength(1);
  expect(stdout.match(/why +as for wrong_secret$/gm)?.length).toBeGreaterThan(3);
});

test.each([
  ["bogus", /there is no case bogus; the nearest are \w+(, \w+){4}\n$/],
  ["alarmm", /the nearest are alarm, /],
  ["signature-malleability", /the nearest are (\w+, )*\w*signature\w*/],
  ["old timestamps", /timestamp/],
])("doctor names the cases that are most like %j, and not all of them", async (given, message) => {
  const argv = ["doctor", "http://127.0.0.1:1/", "--only", given];
  const { code, stderr } = await runCommand(argv);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr.length).toBeLessThan(250);
});
