import * as fc from "fast-check";
import { NOW_SECONDS, alarm } from "../deliveries.js";

/** The course of one handler run. */
export interface RunPlan {
  readonly end: "succeeds" | "fails" | "discards" | "retries later" | "never ends";
  /** Undefined if it ends before it returns. */
  readonly afterMs: number | undefined;
}

/** A run of a handler that the plan does not mention. */
export const SUCCEEDS: RunPlan = { end: "succeeds", afterMs: undefined };

/** Decides the order in which tasks finish. fast-check's scheduler fits. */
export interface Scheduler {
  readonly schedule: (task: Promise<void>, label: string) => Promise<void>;
  readonly count: () => number;
  readonly waitNext: (count: number) => Promise<void>;
}

/** Resolves when every promise that can continue has continued. A simulation never waits for real input. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** An unsigned alarm of an id. */
export function requestOf(id: string) {
  return {
    headers: {
      "x-webhook-id": id,
      "x-webhook-type": "new_alarm",
      "x-webhook-timestamp": String(NOW_SECONDS),
    },
    body: JSON.stringify({ alarm: alarm() }),
  };
}

/** The processes of a simulation, by index. */
export const processes = fc.nat({ max: 1 });

/** A step that brings one of two ids to one of the processes. */
export const deliverStep = fc.record({
  what: fc.constant("deliver" as const),
  id: fc.constantFrom("one", "two"),
  process: processes,
});

/** The runs of a plan. */
export const runs: fc.Arbitrary<RunPlan[]> = fc.array(
  fc.record({
    end: fc.constantFrom(
      ...(["succeeds", "succeeds", "fails", "discards", "retries later", "never ends"] as const),
    ),
    afterMs: fc.constantFrom(undefined, 0, 0, 500, 1_900, 2_500, 10_000),
  }),
  { maxLength: 8, size: "max" },
);
