import type { ConformanceReport, WebhookTarget } from "../../kit/index.js";
import type { Platform } from "./platform.js";

/** Why a row does not count as passed: cases that nothing explains, and explanations that nothing needs. */
export function complaintsOf(
  {
    ownAnswers = {},
    isSeenFromOutside = false,
  }: Pick<Platform, "ownAnswers" | "isSeenFromOutside">,
  results: readonly Pick<ConformanceReport["results"][number], "id" | "result" | "reason">[],
): readonly string[] {
  const isExplained = (id: string): boolean => Object.hasOwn(ownAnswers, id);
  const complaints = results
    .filter(({ result }) => !(isSeenFromOutside && result === "not_judged"))
    .filter(({ id, result }) => result !== "passed" && !isExplained(id))
    .map(({ id, result, reason = "" }) => `${id} ${result.replace("_", " ")}: ${reason}`);
  for (const id of Object.keys(ownAnswers)) {
    const result = results.find((one) => one.id === id)?.result;
    if (result === undefined) complaints.push(`ownAnswers has ${id}, and there is no such case`);
    if (result === "passed") complaints.push(`ownAnswers has ${id}, and that case passed`);
  }
  if (results.length === 0) complaints.push("no case ran");
  return complaints;
}

/** The gateway asks for a URL before it makes a webhook for it. One that is called with events has none. */
export async function reachabilityComplaints(target: WebhookTarget): Promise<readonly string[]> {
  if (typeof target !== "string" && !(target instanceof URL)) return [];
  const complaints: string[] = [];
  for (const method of ["GET", "HEAD"]) {
    const response = await fetch(target, { method });
    await response.arrayBuffer();
    if (response.status !== 200) complaints.push(`${method} is answered ${response.status}`);
  }
  return complaints;
}
