import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { shownUrl } from "../options/target-url.js";
import type { Output } from "../terminal/command-io.js";
import { writeJson } from "../terminal/printable.js";
import { causesOf } from "./causes.js";
import {
  describeCauses,
  describeDropped,
  droppedIn,
  describeLeftBehind,
  describeObstacle,
  describeSummary,
  describeUnproven,
} from "./closing-report.js";
import { caseJson } from "./doctor-files.js";
import type { DoctorValues } from "./doctor-options.js";
import { describeCases, describeRepeatedTimestamp } from "./doctor-report.js";
import { countTrusting, unprovenIn } from "./not-proven.js";
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
  { json, all, "failed-only": failedOnly }: DoctorValues,
  url: URL,
  { ends, passed, stopped, notRun, repeated }: DoctorRun,
): void {
  const [causes, dropped] = [causesOf(ends), droppedIn(ends)];
  const unproven = stopped === undefined && notRun === 0 ? unprovenIn(ends) : [];
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
  describeCauses(out, causes);
  if (stopped !== undefined) {
    describeObstacle(out, stopped, "This case and those after it are not judged.");
    out.write("\n");
  }
  describeSummary(out, ends, passed, notRun);
  if (unproven.length > 0) describeUnproven(out, unproven, countTrusting(ends));
  describeLeftBehind(out, ends);
}
