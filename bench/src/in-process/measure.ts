import { runFresh } from "../fresh-process.js";
import { median } from "../statistics.js";
import type { TargetName } from "../targets.js";
import type { Comparison, Effort, Figure } from "./figures.js";

/** The comparison of each target of this part. */
const COMPARED = {
  full: { size: "1 KB", of: "ours", to: "hand-written: + lru-cache + zod" },
  least: { size: "1 KB", of: "ours", to: "hand-written: verify + JSON.parse" },
  standardwebhooks: { size: "1 KB", of: "ours", to: "standardwebhooks" },
  svix: { size: "1 KB", of: "ours", to: "svix" },
  stripe: { size: "1 KB", of: "ours", to: "stripe constructEvent" },
  octokit: { size: "1 KB", of: "ours", to: "octokit verifyAndReceive" },
  floor: { size: "1 KB", of: "ours", to: "floor: HMAC + JSON.parse" },
  asyncInFlight: { size: "1 KB", of: "ours, 64 in flight", to: "hand-written, 64 in flight" },
  signature: { size: "1 KB", of: "ours, signature check", to: "createHmac + timingSafeEqual" },
  refused: { size: "1 KB", of: "ours, refused", to: "hand-written verify + JSON.parse, good" },
  rotation2: { size: "1 KB", of: "2 secrets, the second matches", to: "1 secret" },
  rotation5: { size: "1 KB", of: "5 secrets, the fifth matches", to: "1 secret" },
  body16KB: { size: "16 KB", of: "ours", to: "hand-written: verify + JSON.parse" },
  body1MB: { size: "1 MB", of: "ours", to: "hand-written: verify + JSON.parse" },
} as const satisfies Partial<Record<TargetName, Comparison>>;

/**
 * Measures in several processes, one after the other, and returns the median of each figure, since the
 * compiler optimizes the same code differently in each process.
 */
export async function measureInProcess(effort: Effort, processes: number): Promise<Figure[]> {
  const script = new URL("./child.js", import.meta.url);
  const runs: Figure[][] = [];
  for (let run = 0; run < processes; run++) {
    runs.push((await runFresh(script, { args: [JSON.stringify(effort)] })) as Figure[]);
  }
  return (runs[0] ?? []).map((first, at) => {
    const same = runs.map((run) => run[at] ?? first);
    return {
      ...first,
      ratio: median(same.map(({ ratio }) => ratio)),
      ofNs: median(same.map(({ ofNs }) => ofNs)),
      toNs: median(same.map(({ toNs }) => toNs)),
    };
  });
}

/** The values of the targets that were measured. */
export function valuesOf(figures: readonly Figure[]): Partial<Record<TargetName, number>> {
  const values: Partial<Record<TargetName, number>> = {};
  for (const [target, { size, of, to }] of Object.entries(COMPARED) as [TargetName, Comparison][]) {
    const found = figures.find((one) => one.size === size && one.of === of && one.to === to);
    if (found !== undefined) values[target] = found.ratio;
  }
  return values;
}
