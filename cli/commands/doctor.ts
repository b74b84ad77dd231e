import {
  runConformance,
  type ConformanceCaseReport,
} from "../../kit/conformance/run-conformance.js";
import { createCommand } from "../command.js";
import { causesOf } from "../doctor/causes.js";
import {
  describeCauses,
  describeDropped,
  describeObstacle,
  describeSummary,
  describeUnproven,
} from "../doctor/closing-report.js";
import { caseJson, JunitFile } from "../doctor/doctor-files.js";
import {
  DOCTOR_OPTIONS,
  isFailure,
  readPlan,
  type DoctorPlan,
  type DoctorValues,
} from "../doctor/doctor-options.js";
import { describeCases, describeRepeatedTimestamp } from "../doctor/doctor-report.js";
import { droppedIn } from "../doctor/dropped-deliveries.js";
import { countTrusting, unprovenIn } from "../doctor/not-proven.js";
import { slowRunNote } from "../doctor/run-time.js";
import { watchEndpoint } from "../doctor/stopped-endpoint.js";
import { findObstacle, type Obstacle } from "../doctor/preflight.js";
import { probeRepeatedTimestamp } from "../doctor/repeated-timestamp.js";
import { EXIT, untilAborted } from "../exit.js";
import { shownUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { writeJson } from "../terminal/printable.js";
import { createProgressBar } from "../terminal/progress-bar.js";

/** Tests a running endpoint. */
export const doctor = createCommand({
  name: "doctor",
  summary: "tests a running endpoint, in any language",
  usage: "<url>",
  positionals: { min: 1, max: 1 },
  about: [
    "Sends made-up deliveries, valid and invalid ones, and checks the answers: what is handled, what is refused, and above all what would make the gateway give up an alarm for good. The endpoint needs the secret that you pass here, and handles the valid deliveries as if they were real.",
    "Without --yes it refuses to send to another machine.",
    "Exits 0 when every case passed that must pass, and 1 otherwise. With --strict the cases that should pass count too, with --require-judged also those that are not judged.",
    'The end of the report says what to change first, and what was "not proven": what could not be seen and the option that shows it, and what no run can show, such as 72 hours of memory. A note says which retries would be refused if the gateway repeated its first timestamp; it does not change the exit code.',
  ],
  options: DOCTOR_OPTIONS,
  examples: {
    "An endpoint on this machine": "doctor http://127.0.0.1:3000/webhooks/gateway",
    "With a check of what happened behind each 200":
      "doctor http://127.0.0.1:3000/webhooks/gateway --handled http://127.0.0.1:3000/handled/{id}",
    "Also with a handler that fails":
      "doctor localhost:3000/hook --while-failing-on localhost:3000/fail --while-failing-off localhost:3000/work",
    "A staging system, from CI":
      "doctor https://staging.example.com/webhooks/gateway --yes --junit doctor.xml",
  },
  async run(io, values, [given = ""]) {
    const junit = new JunitFile(values.junit);
    await junit.begin();
    try {
      const plan = await readPlan(io, values, given);
      const code = await examine(io, values, plan, junit);
      await junit.end();
      return code;
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      await junit.end(fault).catch(() => undefined);
      throw error;
    }
  },
});

async function examine(
  io: CommandIo,
  values: DoctorValues,
  plan: DoctorPlan,
  junit: JunitFile,
): Promise<number> {
  const { url, types, secret, connection, cases } = plan;
  const obstacle = await untilAborted(
    io.signal,
    findObstacle(url, {
      ...connection,
      secret,
      types,
      handled: values.handled,
      handledWithinMs: values["handled-within"],
    }),
  );
  if (obstacle !== undefined) return stopBefore(io, values, url, obstacle, junit);

  io.err.write(
    `${cases.length} ${cases.length === 1 ? "case" : "cases"} with made-up deliveries, which the endpoint may handle as real ones.\n`,
  );
  const ends: ConformanceCaseReport[] = [];
  const bar = createProgressBar(io.err, cases.length);
  const watched = watchEndpoint(url, cases, connection, io.signal);
  try {
    const onResult = (end: ConformanceCaseReport): void => {
      ends.push(end);
      // The end of the endpoint is one finding, and not one for each case that is left.
      junit.addCase(end, watched.stopped() === undefined && isFailure(end, values));
      bar.advance(end.title);
      const note = slowRunNote(ends, cases.length);
      if (note !== undefined) bar.say(note);
    };
    await untilAborted(io.signal, runConformance(watched.cases, { onResult, signal: io.signal }));
  } finally {
    bar.end();
    await plan.restoreHandler();
    if (!values.json) {
      io.out.write(`${io.out.style("bold", shownUrl(url))}\n\n`);
      const shown = values["failed-only"] ? ends.filter(({ result }) => result === "failed") : ends;
      describeCases(io.out, shown);
    }
  }
  const stopped = watched.stopped();
  if (stopped !== undefined) junit.addObstacle(stopped);
  const passed = stopped === undefined && !ends.some((end) => isFailure(end, values));
  await reportOn(io, values, plan, { ends, passed, stopped });
  return passed ? EXIT.passed : EXIT.failed;
}

/** Reports the one finding about a URL that cannot be tested. */
function stopBefore(
  io: CommandIo,
  { json }: DoctorValues,
  url: URL,
  obstacle: Obstacle,
  junit: JunitFile,
): number {
  junit.addObstacle(obstacle);
  if (json) writeJson(io.out, { url: shownUrl(url), obstacle, cases: [], passed: false });
  else describeObstacle(io.out, obstacle);
  return EXIT.failed;
}

/** How the cases of a run ended. */
interface Run {
  readonly ends: readonly ConformanceCaseReport[];
  readonly passed: boolean;
  /** Why the run ended before its end. */
  readonly stopped: Obstacle | undefined;
}

async function reportOn(
  { out, signal }: CommandIo,
  { json, only, group }: DoctorValues,
  { url, types: [type = "new_alarm"], connection, secret }: DoctorPlan,
  { ends, passed, stopped }: Run,
): Promise<void> {
  // With --only and --group the report shows nothing but those cases.
  const repeated =
    only.length + group.length > 0 || stopped !== undefined
      ? undefined
      : await probeRepeatedTimestamp(url, { ...connection, secret, type, signal });
  const [causes, dropped] = [causesOf(ends), droppedIn(ends)];
  const unproven = stopped === undefined ? unprovenIn(ends) : [];
  if (json) {
    writeJson(out, {
      url: shownUrl(url),
      ...(stopped === undefined ? {} : { obstacle: stopped }),
      cases: ends.map(caseJson),
      repeatedTimestamp: repeated,
      changeFirst: causes.map(({ change, ends: own }) => ({
        change,
        cases: own.map(({ id }) => id),
      })),
      dropped,
      notProven: unproven,
      passed,
    });
    return;
  }
  if (repeated !== undefined) describeRepeatedTimestamp(out, repeated);
  describeDropped(out, dropped);
  describeCauses(out, causes);
  if (stopped !== undefined) {
    describeObstacle(out, stopped, "This case and those after it are not judged.");
    out.write("\n");
  }
  describeSummary(out, ends, passed);
  if (stopped !== undefined) return;
  describeUnproven(out, unproven, countTrusting(ends));
}
