import type { ReplayResult, TwinDelivery } from "identity-gateway-webhooks/testing";

/** The answer to the gateway. No status if none came. */
export type Answer = Pick<ReplayResult, "status" | "outcome">;

export const HANDLED: Answer = { status: 200, outcome: "handled" };
export const DUPLICATE: Answer = { status: 200, outcome: "duplicate" };
export const IN_FLIGHT: Answer = { status: 409, outcome: "in_flight" };
export const NO_ANSWER: Answer = {};

/** A line of the table: the delivery, the expected answer and the actual one. */
export interface Row extends Answer {
  readonly delivery: string;
  readonly done: string;
  /** How many requests the line stands for. */
  readonly requests: number;
  /** Absent if a fixture expects nothing. */
  readonly expected?: Answer;
  readonly result: ReplayResult["result"];
  readonly ms: number;
  /** A line below the row. */
  readonly note?: string;
}

/** Rows under a heading. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
  /** The deliveries that the gateway gave up. */
  readonly lost?: readonly TwinDelivery[];
}
