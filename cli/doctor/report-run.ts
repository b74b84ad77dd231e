import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { shownUrl } from "../options/target-url.js";
import type { Output } from "../terminal/command-io.js";
import { writeJson } from "../terminal/printable.js";
import {
  causesOf,
  describeCauses,
  describeDropped,
  droppedIn,
  describeLeftBehind,
  describeMadeFinal,
  madeFinalIn,
  describeOpen,
  describeUntaken,
  describeWarnings,
  describeObstacle,
  describeSummary,
  describeUnproven,
} from "./closing-report.js";
import type { DoctorPlan } from "./doctor-options.js";
import {
  describeCases,
  describeRepeatedTimestamp,
  receivedLine,
  sentLine,
} from "./doctor-report.js";
import { countTrusting, otherAnswersIn, unprovenIn } from "./not-proven.js";
import type { Obstacle } from "./preflight.js";
import type { RepeatedTimestamp } from "./repeated-timestamp.js";

/** How the cases of a run ended. */
export interface DoctorRun {
  readonly ends: readonly ConformanceCaseReport[];
  readonly passed: boolean;
  /** Why the run ended before its end. */
  readonly stopped: Obstacle | undefined;
  /** How many cases had not ended at Ctrl-C. */
  readonly notRun: number;
  readonly repeated: RepeatedTimestamp | undefined;
}

/** Writes the report on a run. */
export function reportRun(
  out: Output,
  { url, values }: DoctorPlan,
  { ends, passed, stopped, notRun, repeated }: DoctorRun,
): void {
  const { json, all, handled, "failed-only": failedOnly } = values;
  const [causes, dropped] = [causesOf(ends), droppedIn(ends)];
  const others = otherAnswersIn(ends);
  const madeFinal = madeFinalIn(ends);
  const untaken = ends.flatMap((end) => end.untaken ?? []);
  const isWhole = stopped === undefined && notRun === 0;
  const unproven = isWhole ? unprovenIn(ends, handled !== undefined) : [];
  if (json) {
    writeJson(out, {
      url: shownUrl(url),
      ...(stopped === undefined ? {} : { obstacle: stopped }),
      cases: ends.map(caseJson),
      ...(notRun === 0 ? {} : { notRun }),
      repeatedTimestamp: repeated,
      changeFirst: causes.map(({ change, ends: own }) => ({
        change,
        cases: own.map(({ id }) => id),
      })),
      dropped,
      untaken,
      otherAnswers: others,
      madeFinal,
      notProven: unproven,
      passed,
    });
    return;
  }
  out.write(`${out.style("bold", shownUrl(url))}\n\n`);
  const failed = ends.filter(({ result }) => result === "failed");
  if (failed.length > 1) describeCauses(out, causes);
  const isShort = failedOnly || (out.isTTY && !all && failed.length > 0);
  describeCases(out, isShort ? failed : ends);
  if (isShort && !failedOnly)
    out.write(out.style("dim", "Only what failed is shown: --all shows every case.\n\n"));
  if (repeated !== undefined) describeRepeatedTimestamp(out, repeated);
  describeDropped(out, dropped);
  describeUntaken(out, untaken);
  describeWarnings(out, "a 2xx with other headers", others);
  describeMadeFinal(out, madeFinal);
  describeCauses(out, causes);
  if (stopped !== undefined) {
    describeObstacle(out, stopped, "This case and those after it are not judged.");
    out.write("\n");
  }
  describeSummary(out, ends, passed, notRun);
  if (unproven.length > 0) describeUnproven(out, unproven, countTrusting(ends));
  describeLeftBehind(out, ends);
  describeOpen(out, unproven, countTrusting(ends));
}

/** A case in the format of `--json`. */
function caseJson(end: ConformanceCaseReport) {
  const { id, level, group, title, result, reason, code, need } = end;
  const exchanges = end.exchanges.map((one) => ({
    sent: sentLine(one),
    received: receivedLine(one),
  }));
  const failure = result === "failed" ? { why: end.why, fix: end.fix, exchanges } : {};
  const ms = Number(end.ms.toFixed(1));
  return { id, level, group, title, result, reason, code, need, ...failure, ms };
}

/**
 * Measured over whole runs: some cases run alone, and some requests wait for the answer to another one. The rest is
 * shared by the cases that run at the same time and the requests that each of them sends at once.
 */
const ROUND_TRIPS_PER_CASE = { alone: 0.5, shared: 11.8 } as const;
const MINUTE_MS = 60_000;

/**
 * Why the run will take minutes, judged by the first answers. Undefined when it will not, and after each later
 * case: it is said once.
 */
export function slowRunNote(
  ends: readonly ConformanceCaseReport[],
  cases: number,
  concurrency: number,
): string | undefined {
  const last = ends.at(-1);
  if (last === undefined || ends.slice(0, -1).some((end) => answerTimes(end).length > 0)) {
    return undefined;
  }
  const times = answerTimes(last);
  if (times.length === 0) return undefined;
  // The quickest one: the first request to an idle endpoint may take longer than all others.
  const answerMs = Math.min(...times);
  const { alone, shared } = ROUND_TRIPS_PER_CASE;
  const minutes = (answerMs * (alone + shared / concurrency ** 2) * cases) / MINUTE_MS;
  if (minutes < 1) return undefined;
  const duration = minutes < 1.5 ? "a minute" : `${Math.round(minutes)} minutes`;
  return `The endpoint answers in about ${Math.round(answerMs)} ms, so ${cases} cases will take about ${duration}. For a part of them pass --group or --only; --concurrency runs more of them at the same time.`;
}

function answerTimes({ exchanges }: ConformanceCaseReport): readonly number[] {
  return exchanges.flatMap(({ received }) => ("error" in received ? [] : [received.ms]));
}
