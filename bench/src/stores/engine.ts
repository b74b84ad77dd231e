import type { DeliveryStore } from "identity-gateway-webhooks";

/** For how long each id is remembered: a week, the receiver's default. */
export const RETENTION_MS = 604_800_000;
/** Calls that are under way at a time, where a server does the work. */
export const AT_A_TIME = 50;

/** A store over a real engine, and the least that the engine does to remember a key. */
export interface Engine {
  readonly name: string;
  readonly store: DeliveryStore;
  /** What `rawWrite` does, in Markdown. */
  readonly raw: string;
  /** Writes one new key through the same client, as durably. Says whether it was new. */
  readonly rawWrite: (key: string) => boolean | Promise<boolean>;
  /** Calls that are under way at a time: one where the engine works in the thread of its caller. */
  readonly atATime: number;
  /** Forgets all keys, those of the store and the raw ones. */
  readonly empty: () => unknown;
  /** Bytes that the engine takes for everything it holds. */
  readonly bytes: () => number | Promise<number>;
  readonly close: () => unknown;
}
