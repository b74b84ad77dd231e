import { bodyOf, type BodySize } from "../deliveries.js";
import { reply } from "../fresh-process.js";
import { measureRounds, medianOf, ratioOf, type Case, type Samples } from "../rounds.js";
import { ASYNC_BATCH, asyncCases } from "./async-cases.js";
import { contenders, refusalCases, rotationCases } from "./contenders.js";
import type { Effort, Figure } from "./figures.js";
import { signatureCases } from "./signature.js";

/** Operations per batch, so that a batch takes at least a millisecond. */
const BATCH: Readonly<Record<BodySize, number>> = {
  "250 B": 500,
  "1 KB": 500,
  "16 KB": 50,
  "1 MB": 3,
};
/** Operations of each case before the measurement, so that the compiler has finished. */
const WARM_UP: Readonly<Record<BodySize, number>> = {
  "250 B": 10_000,
  "1 KB": 10_000,
  "16 KB": 1_500,
  "1 MB": 15,
};
/** Rounds of the async cases for one of the others, since their batches are small. */
const ASYNC_ROUNDS = 16;

async function measure(size: BodySize, rounds: number, cases: readonly Case[]): Promise<Samples> {
  return measureRounds(cases, {
    // The bounds apply to the 1 KB alarm. Batches of large bodies take longer and vary less.
    rounds: size === "1 KB" ? rounds : Math.ceil(rounds / 2),
    warmUp: Math.ceil(WARM_UP[size] / BATCH[size]),
  });
}

function figure(size: BodySize, samples: Samples, of: string, to: string): Figure {
  return {
    size,
    of,
    to,
    ratio: ratioOf(samples, of, to),
    ofNs: medianOf(samples, of),
    toNs: medianOf(samples, to),
  };
}

const { sizes, rounds } = JSON.parse(process.argv[2] ?? "{}") as Effort;
const figures: Figure[] = [];
for (const size of sizes) {
  const body = bodyOf(size);
  const batch = BATCH[size];

  const samples = await measure(size, rounds, contenders(body, batch));
  for (const name of samples.keys()) figures.push(figure(size, samples, "ours", name));

  if (size !== "1 KB") continue;
  const later = await measureRounds(asyncCases(body), {
    rounds: rounds * ASYNC_ROUNDS,
    warmUp: Math.ceil(WARM_UP[size] / ASYNC_BATCH),
  });
  for (const how of ["async handler", "64 in flight"]) {
    figures.push(figure(size, later, `ours, ${how}`, `hand-written, ${how}`));
  }
  const checks = await measure(size, rounds, await signatureCases(body, batch));
  figures.push(figure(size, checks, "ours, signature check", "createHmac + timingSafeEqual"));
  const refusals = await measure(size, rounds, refusalCases(body, batch));
  for (const name of refusals.keys()) figures.push(figure(size, refusals, "ours, refused", name));
  const rotation = await measure(size, rounds, rotationCases(body, batch));
  for (const of of ["2 secrets, the second matches", "5 secrets, the fifth matches"]) {
    figures.push(figure(size, rotation, of, "1 secret"));
  }
}
reply(figures);
