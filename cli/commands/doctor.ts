import {
  runConformance,
  type ConformanceCaseReport,
} from "../../kit/conformance/run-conformance.js";
import { createCommand } from "../command.js";
import { describeObstacle } from "../doctor/closing-report.js";
import { DOCTOR_OPTIONS, readPlan, type DoctorPlan } from "../doctor/doctor-options.js";
import { JunitFile } from "../doctor/junit-report.js";
import { isFailure } from "../doctor/not-proven.js";
import { reportRun, type DoctorRun } from "../doctor/report-run.js";
import { slowRunNote } from "../doctor/report-run.js";
import { watchEndpoint } from "../doctor/stopped-endpoint.js";
import { findObstacle } from "../doctor/preflight.js";
import { probeRepeatedTimestamp, type RepeatedTimestamp } from "../doctor/repeated-timestamp.js";
import { EXIT, untilAborted } from "../exit.js";
import { shownUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { counted, writeJson } from "../terminal/printable.js";
import { createProgressBar } from "../terminal/progress-bar.js";

/** Tests a running endpoint. */
export const doctor = createCommand({
  name: "doctor",
  summary: "tests a running endpoint, in any language",
  usage: "<url>",
  about: [
    "Sends made-up deliveries, valid and invalid ones, and checks the answers: what is handled, what is refused, and above all what would make the gateway give up an alarm for good. The endpoint needs the secret that you pass here, and handles the valid deliveries as if they were real.",
    "Without --yes it refuses to send to another machine.",
    "Exits 0 when every case passed that must pass, and 1 otherwise. With --strict the cases that should pass count too, with --require-judged also those that are not judged.",
    'The end of the report says what to change first, and what was "not proven": what could not be seen and the option that shows it, and what no run can show, such as 72 hours of memory. The last line names the one option that proves most of it. A note says which retries would be refused if the gateway repeated its first timestamp; it does not change the exit code.',
  ],
  options: DOCTOR_OPTIONS,
  examples: {
    "An endpoint on this machine": "doctor http://127.0.0.1:3000/webhooks/gateway",
    "With a check of what happened behind each 200":
      "doctor http://127.0.0.1:3000/webhooks/gateway --handled http://127.0.0.1:3000/handled/{id}",
    "Also with a handler that fails":
      "doctor localhost:3000/hook --while-failing-on localhost:3000/fail --while-failing-off localhost:3000/work",
    "A staging system, from CI":
      "doctor https://staging.example.com/webhooks/gateway --yes --handled https://staging.example.com/handled/{id} --require-judged --junit doctor.xml",
  },
  async run(io, values, [given = ""]) {
    const junit = new JunitFile(values.junit);
    await junit.begin();
    try {
      const plan = await readPlan(io, values, given);
      const code = await examine(io, plan, junit);
      await junit.end();
      return code;
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      await junit.end(fault).catch(() => undefined);
      throw error;
    }
  },
});

async function examine(io: CommandIo, plan: DoctorPlan, junit: JunitFile): Promise<number> {
  const { url, cases, values } = plan;
  const bar = createProgressBar(io.err, cases.length);
  bar.show("a first delivery");
  const obstacle = await untilAborted(io.signal, findObstacle(plan)).finally(bar.end);
  if (obstacle !== undefined) {
    junit.addObstacle(obstacle);
    const result = { url: shownUrl(url), obstacle, cases: [], passed: false };
    if (values.json) writeJson(io.out, result);
    else describeObstacle(io.out, obstacle);
    return EXIT.failed;
  }
  if (values.redirects) io.err.write("The URL does not redirect a POST.\n");

  io.err.write(
    `${counted(cases.length, "case")} with made-up deliveries, which the endpoint may handle as real ones.\n`,
  );
  const run = await runCases(io, plan, junit);
  // After Ctrl-C there is little time: the report does not wait for the handler.
  const restored = plan.restoreHandler();
  reportRun(io.out, plan, run);
  await restored;
  io.signal.throwIfAborted();
  return run.passed ? EXIT.passed : EXIT.failed;
}

/** Runs the cases and shows progress. After Ctrl-C it resolves to what has ended by then. */
async function runCases(io: CommandIo, plan: DoctorPlan, junit: JunitFile): Promise<DoctorRun> {
  const { cases, values } = plan;
  const { signal } = io;
  const ended = new Map<string, ConformanceCaseReport>();
  const running = new Set<string>();
  const bar = createProgressBar(io.err, cases.length);
  const watched = watchEndpoint(plan, signal);
  const progress = (): string => {
    const failed = [...ended.values()].filter(({ result }) => result === "failed").length;
    return `${failed === 0 ? "" : `${failed} failed; `}${[...running].join(", ")}`;
  };
  let repeated: RepeatedTimestamp | undefined;
  try {
    const all = runConformance(watched.cases, {
      concurrency: values.concurrency,
      signal,
      onStart({ id }) {
        running.add(id);
        bar.show(progress());
      },
      onResult(end) {
        if (signal.aborted) return;
        running.delete(end.id);
        ended.set(end.id, end);
        // The end of the endpoint is one finding, and not one for each case that is left.
        junit.addCase(end, watched.stopped() === undefined && isFailure(end, values));
        bar.advance(progress());
        const note = slowRunNote([...ended.values()], cases.length, values.concurrency);
        if (note !== undefined) bar.say(note);
      },
    });
    await untilAborted(signal, all);
    // With --only and --group the report shows nothing but those cases.
    if (values.only.length + values.group.length === 0 && watched.stopped() === undefined) {
      bar.show("retries with the first timestamp");
      repeated = await probeRepeatedTimestamp(plan, signal);
    }
  } catch (error) {
    if (!signal.aborted) {
      await plan.restoreHandler();
      throw error;
    }
  } finally {
    bar.end();
  }
  const stopped = watched.stopped();
  if (stopped !== undefined) junit.addObstacle(stopped);
  const ends = cases.flatMap(({ id }) => ended.get(id) ?? []);
  const notRun = cases.length - ends.length;
  const isProven = ends.some(({ result }) => result === "passed");
  const isWhole = stopped === undefined && notRun === 0;
  const passed = isProven && isWhole && !ends.some((end) => isFailure(end, values));
  return { ends, passed, stopped, notRun, repeated };
}
