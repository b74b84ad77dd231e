import type { StorePlace } from "./durable-store.js";

/** The message that starts a receiver in its process. */
export interface ReceiverOrder {
  readonly place: StorePlace;
  /** The file for the effects, beside the store: one delivery id per line. */
  readonly effects: string;
  /** How long a claim holds without renewal. Milliseconds. */
  readonly leaseMs: number;
  /** 0: any free port. */
  readonly port: number;
  /** The delivery whose handler waits until the process is killed. */
  readonly cutOffId?: string;
}

/** Messages of a receiver's process: it listens, and the handler that will be killed runs. */
export type ReceiverNews =
  | { readonly name: "listening"; readonly port: number; readonly url: string }
  | { readonly name: "handling" };
