import http from "node:http";
import { describe, expect, test, vi } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { causesOf, LOST_WHILE } from "../../cli/doctor/closing-report.js";
import { CLI_NAMES } from "../../cli/doctor/doctor-options.js";
import { unprovenIn } from "../../cli/doctor/not-proven.js";
import { slowRunNote } from "../../cli/doctor/report-run.js";
import { createStyle } from "../../cli/terminal/command-io.js";
import { createProgressBar } from "../../cli/terminal/progress-bar.js";
import { UNMET_NEEDS } from "../../kit/conformance/conformance-options.js";
import {
  conformanceCases,
  receiverConformance,
} from "../../kit/conformance/receiver-conformance.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { UNVERIFIABLE_OUTCOMES } from "../../src/answer/outcome.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";
import { serving } from "../support/serving.js";

/** The report of a case that failed. */
function failed(changes: Partial<ConformanceCaseReport>): ConformanceCaseReport {
  return {
    id: "a_new_case",
    level: "must",
    group: "forgery",
    title: "t",
    why: "w",
    fix: "f",
    result: "failed",
    reason: "it is wrong",
    exchanges: [],
    ms: 1,
    ...changes,
  };
}

test("--failed-only has one line for failed cases with one cause, and fits 80 columns", async () => {
  const { url } = await receivingEndpoint({ unverifiable: "reject" });
  const world = { isTTY: true, columns: 80, env: { NO_COLOR: "1" } };
  const { stdout } = await runCommand(`doctor ${url} --group retries --failed-only`, world);
  expect(stdout).toMatch(
    /Change first\n +1\. Answer 409 or 503 where you answer 400, 401, .* \(\d cases\)\n +wrong_secret_sent_again, unsigned_sent_again,/s,
  );
  const [cases = ""] = stdout.split("\nleft behind:\n");
  expect(cases).not.toMatch(/^ {2}[✓–] (?!that|which)/m);
  expect(cases).toContain("✗ a delivery signed with another secret gets a retryable status");
  const long = stdout.split("\n").filter((line) => Array.from(line).length > 80);
  // A title stands on one line, and a header may hold a long word.
  expect(long.filter((line) => !/^ {2}[✓~✗–] |^ {16}\S+$/.test(line))).toEqual([]);
});

test("doctor says once which outcome was made final, what that loses, and which musts fail for it", async () => {
  const { url } = await receivingEndpoint({ unverifiable: { signature_mismatch: "reject" } });
  const argv = `doctor ${url} --group retries`;
  const stdout =
    "final by choice ! signature_mismatch, answered 401 by the option unverifiable: the gateway gives up each delivery while the secret here is not the gateway's, as during a rotation, or something in front changes the body. Failed for it: wrong_secret_sent_again, rewritten_body_sent_again. Change first";
  const found = await expectEnd(argv, { code: 1, stdout });
  expect(found.stdout.match(/final by choice|by the option unverifiable/g)).toHaveLength(2);
  const cases = ["wrong_secret_sent_again", "rewritten_body_sent_again"];
  const madeFinal = [{ outcome: "signature_mismatch", status: 401, cases }];
  await expectEnd(`${argv} --json`, { json: { madeFinal } });
});

test("doctor speaks of no choice to an endpoint that makes no outcome final, or is not of this library", async () => {
  const ours = await receivingEndpoint();
  const other = await answeringEndpoint({ status: 200 }, { status: 401 });
  for (const { url } of [ours, other]) {
    await expectEnd(`doctor ${url} --only wrong_secret_sent_again`, { never: "final by choice" });
  }
});

test("doctor knows for each outcome that unverifiable can make final what that loses", () => {
  expect(Object.keys(LOST_WHILE)).toEqual(UNVERIFIABLE_OUTCOMES);
});

test("a reason that leaves a whole group unjudged is said once in it", async () => {
  const { url } = await answeringEndpoint({ status: 409 });
  // Nothing failed, but nothing is proven either.
  const { stdout } = await expectEnd(`doctor ${url} --group forgery`, {
    code: 1,
    stdout: /^✗ 0 passed, \d+ not judged$/m,
  });
  const [report = ""] = stdout.split("not proven:");
  expect(report.match(/^ {2}– /gm)?.length).toBeGreaterThan(10);
  // One case has a reason of its own.
  expect(report.match(/unjudged/g)).toHaveLength(2);
  expect(report.match(/does not accept a plain genuine delivery/g)).toHaveLength(1);
  expect(stdout).toContain("your endpoint accepts no genuine delivery");
});

test("doctor ends with what stays behind of a run, and how to remove it", async () => {
  const { url } = await receivingEndpoint();
  const stdout =
    /left behind: – what your handlers wrote: .* begins with 7e57da7a- → remove it by this prefix.*, or discard the jobs by the same prefix $/;
  await expectEnd(`doctor ${url} --only alarm`, { stdout });
  const refusing = await answeringEndpoint({ status: 409 });
  await expectEnd(`doctor ${refusing.url} --only alarm`, { never: "left behind" });
});

test("--group runs and shows only that group", async () => {
  const { url } = await receivingEndpoint({ unverifiable: "reject" });
  const stderr = /^\d+ cases with made-up deliveries/;
  const never = /retries\n|forgery\n|first timestamp/;
  await expectEnd(`doctor ${url} --group headers`, { stdout: "headers\n", stderr, never });
});

test("doctor notes the deliveries that a receiver of this library drops for want of a handler", async () => {
  const receiver = alarmReceiver(() => undefined, { now: Date.now });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const argv = ["doctor", url, "--only", "alarm", "--only", "event"];
  const stdout =
    "! 1 delivery of delete_my_data_event answered 200 and dropped: the receiver has no handler for them (unhandled). Add a handler, or leave the type out with --type.";
  await expectEnd(argv, { code: 0, stdout });
  const dropped = [{ type: "delete_my_data_event", count: 1 }];
  await expectEnd([...argv, "--json"], { json: { dropped } });
  await expectEnd([...argv, "--type", "new_alarm"], { never: "dropped" });
});

test.each<[Partial<ConformanceCaseReport>, RegExp]>([
  [{ code: "probe_failed" }, /^Repair the probe/],
  [{ id: "alarm", code: "not_accepted" }, /^Accept a plain genuine delivery/],
  [{ id: "exact_bytes", code: "not_accepted" }, /^Verify and decode the raw bytes/],
  [{ group: "idempotency", code: "handled_again" }, /^Claim the whole/],
  [{ group: "idempotency", code: "duplicates_not_handled" }, /^Handle each X-Webhook-Id exactly/],
  [{ group: "a group of later" as "forgery", fix: "Do it so." }, /^Do it so\.$/],
])(
  "a failed case finds its cause, also one that the table does not name: %j",
  (changes, change) => {
    expect(causesOf([failed(changes)])[0]?.change).toMatch(change);
  },
);

test.each([
  ["unlimited_body", /^Read bodies up to 1 MiB/],
  ["expect_continue", /100-continue/],
  ["other_methods", /^Answer 405 to other methods/],
  ["late_effects", /^Put nothing into a queue/],
])("what doctor says of a failed %s is about it, and not about its group", (id, change) => {
  const all = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET });
  const { group, fix } = all.find((one) => one.id === id) ?? {};
  const [cause] = causesOf([failed({ id, group, fix } as Partial<ConformanceCaseReport>)]);
  expect(cause?.change).toMatch(change);
  const [ofGroup] = causesOf([failed({ group } as Partial<ConformanceCaseReport>)]);
  expect(cause?.change).not.toBe(ofGroup?.change);
});

test("what blocks all other cases comes first, then what must pass, then what most cases share", () => {
  const causes = causesOf([
    failed({ group: "answers", level: "should" }),
    failed({ group: "answers", level: "should" }),
    failed({ group: "transport" }),
    failed({ group: "headers" }),
    failed({ group: "headers" }),
    failed({ id: "event", code: "not_accepted" }),
    failed({ result: "passed" }),
  ]);
  expect(
    causes.map(({ ends }) => ends.map(({ group, id }) => (id === "event" ? id : group))),
  ).toEqual([["event"], ["headers", "headers"], ["transport"], ["answers", "answers"]]);
});

test("no text of a case names an option of the library to the users of doctor", () => {
  const options = { target: "http://127.0.0.1:1/", secret: TEST_SECRET };
  const cases = conformanceCases(options, CLI_NAMES);
  const texts = [
    ...cases.map(({ why, fix }) => `${why} ${fix}`),
    ...Object.values(UNMET_NEEDS).map((text) => text(CLI_NAMES)),
  ];
  for (const text of texts) {
    expect(text).not.toMatch(/the option (handled|types|while|secret|timeoutMs)/);
  }
  expect(cases.find(({ id }) => id === "event")?.fix).toContain("set --type.");
});

test("a case that lacks something unknown is its own line of what was not proven", () => {
  const unjudged = (id: string, need?: ConformanceCaseReport["need"]) =>
    failed({ id, result: "not_judged", reason: "the moon was not full", need });
  expect(
    unprovenIn([
      unjudged("a"),
      unjudged("b", "handled"),
      unjudged("c"),
      unjudged("d", "new_alarm"),
      unjudged("e", "handled_before_answer"),
      unjudged("f", "longer_secret"),
    ])
      .filter(({ cases }) => cases.length > 0)
      .map(({ what, cases }) => [what, cases]),
  ).toEqual([
    ["the moon was not full", ["a", "c"]],
    ["whether an alarm behind a 200 was handled, and only once", ["b"]],
    ["whether an alarm that you acknowledge before you handle it survives a crash", ["e"]],
    ["whether an answer contains the secret", ["f"]],
  ]);
});

/** The progress of a run of three steps, of which one has ended, in 25 seconds. */
function shownIn25Seconds(isTTY: boolean): readonly string[] {
  vi.useFakeTimers();
  const written: string[] = [];
  const write = (text: string): unknown => written.push(text);
  const bar = createProgressBar(
    { write, isTTY, columns: isTTY ? 60 : undefined, style: createStyle(false) },
    3,
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

/** What doctor writes when it is interrupted at the 30th request. */
async function interrupted(...options: readonly string[]): Promise<string> {
  const { url, onRequest } = await answeringEndpoint({ status: 200 });
  const command = startCommand(["doctor", url, "--group", "forgery", ...options]);
  onRequest((count) => {
    if (count === 30) command.interrupt();
  });
  expect(await command.exitCode).toBe(130);
  return command.stdout();
}

test.each([[[]], [["--failed-only"]]])(
  "Ctrl-C shows what was judged, and that the run was cut off: doctor %j",
  async (options) => {
    expect(await interrupted("--concurrency", "1", ...options)).toMatch(
      /✗ .*must, \w+.\n[^]*\n✗ \d+ passed, \d+ failed that must pass.*, cut off before \d+ cases had ended\n$/m,
    );
  },
);

test("Ctrl-C leaves a whole JSON document that says how many cases have not run", async () => {
  const report = JSON.parse(await interrupted("--json")) as { cases: unknown[]; notRun: number };
  expect(report).toMatchObject({ passed: false, notProven: [] });
  expect(report.cases.length).toBeGreaterThan(0);
  expect(report.notRun).toBeGreaterThan(0);
});

test("on a terminal doctor shows only what failed, with what to change first on top and at the end", async () => {
  const { url } = await receivingEndpoint({ unverifiable: "reject" });
  const world = { isTTY: true, env: { NO_COLOR: "1" } };
  const short = await runCommand(`doctor ${url} --group retries`, world);
  expect(short.stdout).toMatch(/^http.*\n\nChange first\n[^]*\nretries\n[^]*\nChange first\n/);
  const [cases] = short.stdout.split("\nleft behind:\n");
  expect(cases).not.toMatch(/^ {2}[✓–~] (?!that|which)/m);
  expect(short.stdout).toContain("Only what failed is shown: --all shows every case.");
  await expectEnd(`doctor ${url} --group retries --all`, { stdout: /^ {2}✓ /m }, world);
  await expectEnd(`doctor ${url} --group retries`, { stdout: /^ {2}✓ /m });
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
  const { stderr } = await expectEnd(argv, { code: 2, stderr: message });
  expect(stderr.length).toBeLessThan(250);
});

/** The report of a case whose answers took so long. */
function answeredIn(...times: readonly number[]): ConformanceCaseReport {
  const sent = { method: "POST", headers: [], bytes: 2 };
  const received = { status: 200, headers: {}, body: "" };
  const exchanges = times.map((ms) => ({ sent, received: { ...received, ms } }));
  return failed({ result: "passed", exchanges });
}

describe("the note on a slow run", () => {
  test.each([
    [[answeredIn(800)], 1, "800 ms, so 88 cases will take about 14 minutes. For a part of them"],
    [[answeredIn(1_600)], 4, "about 3 minutes. For a part of them pass --group or --only"],
    [[answeredIn(2_000, 160)], 1, "160 ms, so 88 cases will take about 3 minutes."],
    [[answeredIn(), answeredIn(600)], 4, "about a minute"],
  ])("says how long the run takes, by the first case with answers: %#", (ends, atOnce, note) => {
    expect(slowRunNote(ends, 88, atOnce)).toContain(note);
  });

  test.each([
    ["a quick endpoint", [answeredIn(20)]],
    ["a run that has said it", [answeredIn(800), answeredIn(800)]],
    ["an endpoint that did not answer", [answeredIn()]],
    ["a run without a case", []],
  ])("is left out for %s", (_, ends) => {
    expect(slowRunNote(ends, 88, 1)).toBeUndefined();
  });
});

test("doctor says on standard error that a slow endpoint makes the run long", async () => {
  const server = http.createServer((req, res) => {
    req.resume();
    setTimeout(() => res.end("ok"), 900);
  });
  const url = await serving(server);
  const command = startCommand(["doctor", url, "--json"]);
  await eventually(command.stderr).toMatch(
    /The endpoint answers in about \d{3,} ms, so \d{2,3} cases will take about \d+ minutes\. For a part of them .*\n/,
  );
  expect(command.stdout()).toBe("");
  expect(await command.stop()).toBe(130);
});
