import { median, shuffled } from "./statistics.js";

/** One thing to measure. */
export interface Case {
  readonly name: string;
  /** Makes what the next batch needs, outside of the measured time. */
  readonly prepare: () => void;
  /** Runs the batch. Returns how many of its operations had the right outcome. */
  readonly run: () => number | Promise<number>;
  /** Operations per batch. */
  readonly batch: number;
}

/** Nanoseconds per operation of one case in each round, in the order of the rounds. */
export type Samples = ReadonlyMap<string, readonly number[]>;

/** An operation had the wrong outcome, so that its time means nothing. */
export class WrongOutcomeError extends Error {
  override readonly name = "WrongOutcomeError";
}

/**
 * Measures every case once per round, in random order, so that other work of the machine affects all cases.
 * The first `warmUp` rounds are dropped.
 *
 * @throws WrongOutcomeError if an operation had the wrong outcome.
 */
export async function measureRounds(
  cases: readonly Case[],
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<Samples> {
  const samples = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    for (const one of shuffled(cases)) {
      one.prepare();
      const start = process.hrtime.bigint();
      const good = await runCase(one);
      const ns = Number(process.hrtime.bigint() - start);
      if (good !== one.batch) {
        throw new WrongOutcomeError(
          `${one.name}: ${good} of ${one.batch} operations ended as they should`,
        );
      }
      if (round >= 0) samples.get(one.name)?.push(ns / one.batch);
    }
  }
  return samples;
}

/** Treats a library that throws like one that returns the wrong outcome. */
async function runCase(one: Case): Promise<number> {
  try {
    const running = one.run();
    return typeof running === "number" ? running : await running;
  } catch (error) {
    throw new WrongOutcomeError(`${one.name}: an operation failed`, { cause: error });
  }
}

/** The median of the ratios of two cases in the same round. */
export function ratioOf(samples: Samples, numerator: string, denominator: string): number {
  const above = samplesOf(samples, numerator);
  const below = samplesOf(samples, denominator);
  return median(above.map((value, round) => value / (below[round] ?? Number.NaN)));
}

/** The median of one case. */
export function medianOf(samples: Samples, name: string): number {
  return median(samplesOf(samples, name));
}

function samplesOf(samples: Samples, name: string): readonly number[] {
  const found = samples.get(name);
  if (found === undefined) throw new Error(`no case is named ${name}`);
  return found;
}
