import { createDeliver } from "../../testing/conformance/deliveries.js";
import { inWords } from "../../testing/diagnosis/clock-skew.js";
import { createRandom } from "../../testing/random.js";
import { createSender } from "../../testing/sending/sender.js";
import type { SenderOptions } from "../../testing/sending/target.js";
import { createRetrySchedule } from "../../testing/twin/retry-schedule.js";
import type { WebhookType } from "../../delivery/webhook-type.js";
import { exchange, readingOf, type Exchange } from "../send/exchange.js";

/**
 * What becomes of retries if the gateway repeats the timestamp of the first attempt, against its document
 * ("when the request was built").
 */
export interface RepeatedTimestamp {
  /** The first attempt of its schedule that is refused as too old; null where each is taken. */
  readonly refusedFrom: { readonly attempt: number; readonly afterMs: number } | null;
  /** The same as a clause on "its retries". */
  readonly finding: string;
  /** What to make of it. */
  readonly note: string;
}

/** How an endpoint is probed. */
export interface ProbeOptions extends SenderOptions {
  readonly secret: string;
  /** What is sent. */
  readonly type: WebhookType;
  readonly signal: AbortSignal;
}

const REFUSED =
  "By the gateway's document each attempt is signed anew, and then this is right. If your log says that it repeats the first timestamp, raise timestampToleranceMs: with a store that outlives the process, up to retentionMs.";
const TAKEN =
  "Someone who captured a delivery can send it for as long, so its id has to be remembered for longer (retentionMs).";

/**
 * Sends genuine deliveries as old as each attempt of the gateway's schedule would be, until one is
 * refused. Undefined where the endpoint does not take fresh ones, so that its refusals say nothing.
 */
export async function probeRepeatedTimestamp(
  url: URL,
  { secret, type, signal, ...connection }: ProbeOptions,
): Promise<RepeatedTimestamp | undefined> {
  const sender = createSender(url, connection);
  const deliver = createDeliver({ secret, types: [type], now: Date.now });
  try {
    return await probe((age) =>
      deliver({ age }).then((delivery) => exchange(sender, delivery, signal)),
    );
  } finally {
    sender.close();
  }
}

async function probe(
  send: (age: number) => Promise<Exchange>,
): Promise<RepeatedTimestamp | undefined> {
  const isTaken = async (ageMs: number): Promise<boolean> => {
    const { status } = await send(Math.round(ageMs / 1_000));
    return readingOf(status) === "acknowledged";
  };
  const { attempts, gapMs } = createRetrySchedule();
  const random = createRandom(0);
  let afterMs = 0;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) afterMs += gapMs(attempt - 1, random);
    if (await isTaken(afterMs)) continue;
    if (attempt === 1 || !(await isTaken(0))) return undefined;
    const finding = `its retries are refused from attempt ${attempt} on, ${inWords(afterMs)} after the first`;
    return { refusedFrom: { attempt, afterMs }, finding, note: REFUSED };
  }
  const finding = `its retries are taken up to the last, ${inWords(afterMs)} after the first`;
  return { refusedFrom: null, finding, note: TAKEN };
}
