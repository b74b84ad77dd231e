import type { WebhookType } from "../../../src/index.js";

/** The engines whose receivers are killed. */
export type EngineName = "postgres" | "redis";

/** What a process is told. */
export interface Role {
  readonly engine: EngineName;
  /** Where its store is. */
  readonly at: string;
  /** The gateway whose lists it reads. Without one it receives. */
  readonly recoverFrom?: string | undefined;
}

export const ACCOUNTS: readonly number[] = Array.from({ length: 50 }, (_, n) => 2_001 + n);
export const LISTS: readonly (readonly [WebhookType, string])[] = [
  ["new_alarm", "/api/v1/alarms"],
  ["delete_my_data_event", "/api/v1/delete-my-data/events"],
];
/** The list or table of what the handlers did. */
export const LEDGER = "handled";
/** The header with the time of the gateway's clock, which runs through 36 hours in a minute. */
export const TEST_TIME = "x-test-time";

/** Which record it is, by a field that the run gives a value of its own in each. */
export function keyOf(record: object): string {
  const { id, occurred_at, account_id } = record as Readonly<Record<string, number | string>>;
  return id === undefined
    ? `event ${String(account_id)} ${String(occurred_at)}`
    : `alarm ${String(id)}`;
}

/** How long a killed process keeps a record, on Redis. */
export const LEASE_MS = 4_000;
