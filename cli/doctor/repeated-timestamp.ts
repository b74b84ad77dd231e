import { makeDelivery } from "../../kit/conformance/test-deliveries.js";
import { inWords } from "../../kit/duration-words.js";
import { createRandom } from "../../kit/random.js";
import { createSender } from "../../kit/sending/sender.js";
import { checkRetrySchedule, gapMs } from "../../kit/twin/retry-schedule.js";
import type { DoctorPlan } from "./doctor-options.js";
import { exchange, readingOf, type Exchange } from "../send/exchange.js";

/**
 * Which retries the endpoint refuses if the gateway repeats the timestamp of the first attempt, contrary to
 * its document ("when the request was built").
 */
export interface RepeatedTimestamp {
  /** The first attempt that is refused as too old. Null if every attempt is accepted. */
  readonly refusedFrom: { readonly attempt: number; readonly afterMs: number } | null;
  /** The same in words. */
  readonly finding: string;
  /** What this means. */
  readonly note: string;
}

/** Of a plan, what the probe needs. */
type Endpoint = Omit<DoctorPlan, "values" | "cases" | "restoreHandler">;

const REFUSED =
  "The gateway's document says that each attempt is signed again. Then this result is right. If your log says that the gateway repeats the first timestamp, raise timestampToleranceMs: with a store that survives restarts, up to retentionMs.";
const TAKEN =
  "A captured delivery can be sent again for that long, so its id must be remembered longer (retentionMs).";

/**
 * Sends genuine deliveries, each as old as an attempt of the gateway's schedule would be, until one is
 * refused. Undefined if the endpoint also refuses fresh ones, since its refusals then prove nothing.
 */
export async function probeRepeatedTimestamp(
  { url, secret, types: [type = "new_alarm"], accountIds, leftOut, connection }: Endpoint,
  signal: AbortSignal,
): Promise<RepeatedTimestamp | undefined> {
  const sender = createSender(url, connection);
  try {
    const settings = { secret, types: [type], accountIds, leftOut, now: Date.now } as const;
    return await probe(async (age) =>
      exchange(sender, await makeDelivery(settings, { age }), signal),
    );
  } finally {
    sender.close();
  }
}

async function probe(send: (age: number) => Promise<Exchange>) {
  const isTaken = async (ageMs: number): Promise<boolean> => {
    const { status, answeredBy } = await send(Math.round(ageMs / 1_000));
    return readingOf(status) === "acknowledged" && answeredBy !== "page";
  };
  const schedule = checkRetrySchedule();
  const random = createRandom(0);
  let afterMs = 0;
  for (let attempt = 1; attempt <= schedule.attempts; attempt++) {
    if (attempt > 1) afterMs += gapMs(schedule, attempt - 1, random);
    if (await isTaken(afterMs)) continue;
    if (attempt === 1 || !(await isTaken(0))) return undefined;
    const finding = `its retries are refused from attempt ${attempt} on, ${inWords(afterMs)} after the first`;
    return { refusedFrom: { attempt, afterMs }, finding, note: REFUSED };
  }
  const finding = `its retries are accepted up to the last, ${inWords(afterMs)} after the first`;
  return { refusedFrom: null, finding, note: TAKEN };
}
