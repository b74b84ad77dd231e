import type { ReplayResult, TwinDelivery } from "identity-gateway-webhooks/testing";

/** What the gateway is answered; no status where no answer comes. */
export type Answer = Pick<ReplayResult, "status" | "outcome">;

export const HANDLED: Answer = { status: 200, outcome: "handled" };
export const DUPLICATE: Answer = { status: 200, outcome: "duplicate" };
export const IN_FLIGHT: Answer = { status: 409, outcome: "in_flight" };
export const NO_ANSWER: Answer = {};

/** A line of the table: what was sent, what had to be answered and what was. */
export interface Row extends Answer {
  readonly delivery: string;
  readonly done: string;
  /** How many requests the line stands for. */
  readonly requests: number;
  /** Left out where a fixture expects nothing. */
  readonly expected?: Answer;
  readonly verdict: ReplayResult["verdict"];
  readonly ms: number;
}

/** Rows under a heading. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
  /** What the gateway has given up. */
  readonly lost?: readonly TwinDelivery[];
}
