import { bodyOf, type BodySize } from "../deliveries.js";
import { reply } from "../fresh-process.js";
import { measureRounds, medianOf, ratioOf, type Case, type Samples } from "../rounds.js";
import { contenders, inFlightCases, refusalCases, rotationCases } from "./contenders.js";
import type { Effort, Figure } from "./figures.js";
import { signatureCases } from "./signature.js";

/**
 * Operations per batch. Promises leave much to collect: in batches of 500, a garbage collection takes as long as half a
 * batch and falls into every second one, and the ratio says only into which. Of such small batches few have one.
 */
const BATCH: Readonly<Record<BodySize, number>> = {
  "250 B": 64,
  "1 KB": 64,
  "16 KB": 48,
  "1 MB": 3,
};
/** Operations of each case before the measurement, so that the compiler has finished. */
const WARM_UP: Readonly<Record<BodySize, number>> = {
  "250 B": 10_000,
  "1 KB": 10_000,
  "16 KB": 1_500,
  "1 MB": 15,
};

async function measure(size: BodySize, rounds: number, cases: readonly Case[]): Promise<Samples> {
  return measureRounds(cases, {
    // The bounds apply to the 1 KB alarm. Batches of large bodies take longer and vary less.
    rounds: size === "1 KB" ? rounds : Math.ceil(rounds / 8),
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
  const waiting = await measure(size, rounds, inFlightCases(body, batch));
  figures.push(figure(size, waiting, "ours, 64 in flight", "hand-written, 64 in flight"));
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
