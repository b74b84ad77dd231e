import http from "node:http";
import { expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { causesOf } from "../../cli/doctor/closing-report.js";
import { CLI_NAMES } from "../../cli/doctor/doctor-options.js";
import { unprovenIn } from "../../cli/doctor/not-proven.js";
import {
  conformanceCases,
  receiverConformance,
} from "../../kit/conformance/receiver-conformance.js";
import { UNMET_NEEDS } from "../../kit/conformance/conformance-options.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { runCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

async function rejecting(): Promise<string> {
  const { url } = await receivingEndpoint("reject");
  return url;
}

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

test("failed cases with one cause are one line of doctor, with their number and ids", async () => {
  const { stdout } = await runCommand(`doctor ${await rejecting()} --failed-only`);
  expect(stdout).toMatch(
    /Change first\n +1\. Answer 409 or 503 where you answer 400, 401, .* \(\d cases\)\n +wrong_secret_sent_again, unsigned_sent_again,/s,
  );
  const [cases = ""] = stdout.split("if the gateway repeats");
  expect(cases).not.toMatch(/✓|–/);
  expect(cases).toContain("✗ a delivery signed with another secret gets a retryable status");
});

test("the report of doctor fits 80 columns, except the requests and answers", async () => {
  const { stdout } = await runCommand(`doctor ${await rejecting()}`, {
    isTTY: true,
    columns: 80,
    env: { NO_COLOR: "1" },
  });
  const long = stdout.split("\n").filter((line) => Array.from(line).length > 80);
  // A title stands on one line, and a header may hold a long word.
  expect(long.filter((line) => !/^ {2}[✓~✗–] |^ {16}\S+$/.test(line))).toEqual([]);
});

test("a reason that leaves a whole group unjudged is said once in it", async () => {
  const { url } = await answeringEndpoint({ status: 409 });
  const { code, stdout } = await runCommand(`doctor ${url} --group forgery`);
  // Nothing failed, but nothing is proven either.
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ 0 passed, \d+ not judged$/m);
  const [report = ""] = stdout.split("not proven:");
  expect(report.match(/^ {2}– /gm)?.length).toBeGreaterThan(10);
  // One case has a reason of its own.
  expect(report.match(/unjudged/g)).toHaveLength(2);
  expect(report.match(/does not accept a plain genuine delivery/g)).toHaveLength(1);
  expect(stdout).toContain("your endpoint accepts no genuine delivery");
});

test("doctor ends with what stays behind of a run, and how to remove it", async () => {
  const { url } = await receivingEndpoint();
  const { stdout } = await runCommand(`doctor ${url} --only alarm`);
  expect(stdout).toMatch(
    /\nleft behind:\n {2}– what your handlers wrote: .* begins with 7e57da7a-\n {4}→ remove it by this prefix[^]*, or discard the jobs\s+by the same prefix\n$/,
  );
  const refusing = await answeringEndpoint({ status: 409 });
  const { stdout: refused } = await runCommand(`doctor ${refusing.url} --only alarm`);
  expect(refused).not.toContain("left behind");
});

test("--group runs and shows only that group", async () => {
  const { stdout, stderr } = await runCommand(`doctor ${await rejecting()} --group forgery`);
  expect(stderr).toMatch(/^\d\d cases with made-up deliveries/);
  expect(stdout).toContain("forgery\n");
  expect(stdout).not.toMatch(/retries\n|headers\n|first timestamp/);
});

test("doctor notes the deliveries that a receiver of this library drops for want of a handler", async () => {
  const receiver = alarmReceiver(() => undefined, { now: Date.now });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const argv = ["doctor", url, "--only", "alarm", "--only", "event"];
  const { code, stdout } = await runCommand(argv);
  expect(code).toBe(0);
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    "! 1 delivery of delete_my_data_event answered 200 and dropped: the receiver has no handler for them (unhandled). Add a handler, or leave the type out with --type.",
  );
  const json = await runCommand([...argv, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    dropped: [{ type: "delete_my_data_event", count: 1 }],
  });
  const alarms = await runCommand([...argv, "--type", "new_alarm"]);
  expect(alarms.stdout).not.toContain("dropped");
});

test.each<[Partial<ConformanceCaseReport>, RegExp]>([
  [{ code: "probe_failed" }, /^Repair the probe/],
  [{ id: "alarm", code: "not_accepted" }, /^Accept a plain genuine delivery/],
  [{ code: "given_up" }, /^Answer 409 or 503/],
  [{ code: "unlisted_status" }, /^Answer only statuses of the gateway's contract/],
  [{ id: "exact_bytes", code: "not_accepted" }, /^Verify and decode the raw bytes/],
  [{ code: "not_handled" }, /^Acknowledge a delivery only when/],
  [{ group: "idempotency", code: "handled_again" }, /^Claim the whole/],
  [{ group: "idempotency", code: "taken_for_duplicate" }, /^Claim the whole/],
  [{ group: "idempotency", code: "duplicates_not_handled" }, /^Handle each X-Webhook-Id exactly/],
  [{ group: "acceptance" }, /^Accept what the gateway may send/],
  [{ group: "retries" }, /^Let the gateway send again/],
  [{ group: "transport", code: "no_answer" }, /^Answer every request/],
  [{ group: "a group of later" as "forgery", fix: "Do it so." }, /^Do it so\.$/],
])(
  "a failed case finds its cause, also one that the table does not name: %j",
  (changes, change) => {
    expect(causesOf([failed(changes)])[0]?.change).toMatch(change);
  },
);

test.each([
  ["unlimited_body", /^Read bodies up to 1 MiB/],
  ["chunked", /^Read each body to its end/],
  ["expect_continue", /100-continue/],
  ["interleaved_uploads", /variable of its own request/],
  ["broken_upload", /^Wait for the end of the body/],
  ["other_methods", /^Answer 405 to other methods/],
  ["no_server_errors", /^Answer 4/],
  ["ban_after_forgeries", /^Do not ban a sender/],
  ["late_effects", /^Put nothing into a queue/],
])("what doctor says of a failed %s is about it, and not about its group", (id, change) => {
  const all = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET });
  const { group, fix } = all.find((one) => one.id === id) ?? {};
  const [cause] = causesOf([failed({ id, group, fix } as Partial<ConformanceCaseReport>)]);
  expect(cause?.change).toMatch(change);
  const [ofGroup] = causesOf([failed({ group } as Partial<ConformanceCaseReport>)]);
  expect(id === "chunked" || cause?.change !== ofGroup?.change).toBe(true);
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
