import type { DeliveryStore } from "identity-gateway-webhooks";

/** How long each id is remembered: a week, the receiver's default. */
export const RETENTION_MS = 604_800_000;
/** Parallel calls, if a server does the work. */
export const AT_A_TIME = 50;

/** A store on a real engine, and the engine's simplest write of a key. */
export interface Engine {
  readonly name: string;
  readonly store: DeliveryStore;
  /** The statement of `rawWrite`, in Markdown. */
  readonly raw: string;
  /** Writes one new key through the same client, with the same durability. Returns whether it was new. */
  readonly rawWrite: (key: string) => boolean | Promise<boolean>;
  /** Parallel calls. One if the engine works in its caller's thread. */
  readonly atATime: number;
  /** Removes all keys of the store and of the raw writes. */
  readonly empty: () => unknown;
  /** Bytes that the engine uses for all its data. */
  readonly bytes: () => number | Promise<number>;
  readonly close: () => unknown;
}
