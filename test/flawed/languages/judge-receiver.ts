import { createHandledProbe, readHandlerSwitch } from "../../../cli/doctor/probes.js";
import { receiverConformance } from "../../../kit/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceReport,
} from "../../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import type { ForeignReceiver } from "./language.js";

/** Runs the cases with these ids, or all of them, with the probes that `doctor` has. */
export function judgeReceiver(
  { origin }: ForeignReceiver,
  ids?: readonly string[],
): Promise<ConformanceReport> {
  const control = (name: string, way: string): string => `${origin}/control/${name}/${way}`;
  const urls = {
    "while-failing-on": control("failing", "on"),
    "while-failing-off": control("failing", "off"),
    "while-slow-on": control("slow", "on"),
    "while-slow-off": control("slow", "off"),
  };
  const cases = receiverConformance({
    target: `${origin}/webhook`,
    secret: TEST_SECRET,
    handled: createHandledProbe(`${origin}/handled/{id}`, {}),
    whileFailing: readHandlerSwitch("while-failing", urls, {})?.during,
    whileSlow: readHandlerSwitch("while-slow", urls, {})?.during,
  });
  return runConformance(cases.filter(({ id }) => ids?.includes(id) ?? true));
}
