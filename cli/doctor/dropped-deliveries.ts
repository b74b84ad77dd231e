import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { outcomeOf } from "../../kit/sending/wire.js";

/** Genuine deliveries that a receiver of this library acknowledged without a handler. */
export interface Dropped {
  /** X-Webhook-Type. */
  readonly type: string;
  readonly count: number;
}

/**
 * The deliveries that were answered `unhandled`, by type. The receiver logs it and answers 200: each such
 * record is gone, but no rule of the gateway is broken.
 */
export function droppedIn(ends: readonly ConformanceCaseReport[]): readonly Dropped[] {
  const counts = new Map<string, number>();
  for (const { sent, received } of ends.flatMap(({ exchanges }) => exchanges)) {
    if ("error" in received || outcomeOf(received.body) !== "unhandled") continue;
    const [, type = ""] =
      sent.headers.find(([name]) => name.toLowerCase() === "x-webhook-type") ?? [];
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return Array.from(counts, ([type, count]) => ({ type, count }));
}
