import { COLD_NAMES, startCold, type ColdName } from "./cold-start/processes.js";
import { deliver } from "./report/deliver.js";
import { duration, ratio } from "./report/markdown.js";
import { medianOf, ratioOf } from "./rounds.js";
import { median, shuffled } from "./statistics.js";

const ROUNDS = 15;
const OURS = "ours, import";

const samples = new Map<string, number[]>(COLD_NAMES.map((name) => [name, []]));
const boots: number[] = [];
// The first round reads the files from the disk, not from its cache, so it is dropped.
for (let round = -1; round < ROUNDS; round++) {
  for (const name of shuffled(COLD_NAMES)) {
    const { bootMs, answerMs } = await startCold(name);
    if (round < 0) continue;
    samples.get(name)?.push(answerMs * 1e6);
    boots.push(bootMs * 1e6);
  }
}

const oursTo = (other: ColdName, ours: ColdName = OURS): number => ratioOf(samples, ours, other);

deliver({
  values: {
    coldImport: oursTo("ours with zod, import"),
    coldRequire: oursTo("ours with zod, require", "ours, require"),
    coldBundled: oursTo("ours with zod, import", "ours, bundled"),
    coldSvix: oursTo("svix"),
    coldStripe: oursTo("stripe"),
  },
  tables: [
    {
      title: "Cold start: from the first line of a fresh process to its first answer",
      columns: ["receiver", "time of ours ÷ its", "its time"],
      rows: [
        ...COLD_NAMES.map((name) => [
          name,
          ratio(ratioOf(samples, OURS, name)),
          duration(medianOf(samples, name)),
        ]),
        [
          "(Node itself, before that line)",
          ratio(medianOf(samples, OURS) / median(boots)),
          duration(median(boots)),
        ],
      ],
    },
  ],
});
