import http from "node:http";
import { describe, expect, test } from "vitest";
import { slowRunNote } from "../../cli/doctor/run-time.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { runCommand, startCommand } from "../support/cli/cli-io.js";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { eventually } from "../support/listening-receiver.js";

/** The report of a case whose answers took so long. */
function answeredIn(...times: readonly number[]): ConformanceCaseReport {
  const sent = { method: "POST", headers: [], bytes: 2 };
  return {
    id: "a",
    level: "must",
    group: "acceptance",
    title: "t",
    why: "w",
    fix: "f",
    result: "passed",
    ms: 1,
    exchanges: times.map((ms) => ({ sent, received: { status: 200, headers: {}, body: "", ms } })),
  };
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

test("doctor says nothing of the time of a quick run", async () => {
  const { url } = await receivingEndpoint();
  const { stderr } = await runCommand(`doctor ${url} --group acceptance`);
  expect(stderr).not.toContain("answers in about");
});
