import type { StorePlace } from "./durable-store.js";

/** What a receiver's process is told when it starts. */
export interface ReceiverOrder {
  readonly place: StorePlace;
  /** Where each effect is written down: a file beside the store, a delivery id a line. */
  readonly effects: string;
  /** How long a claim holds once nobody renews it. Milliseconds. */
  readonly leaseMs: number;
  /** 0: one that is free. */
  readonly port: number;
  /** The delivery in whose handler it waits to be killed. */
  readonly cutOffId?: string;
}

/** What a receiver's process tells: that it takes deliveries, and that the one to be cut off runs. */
export type ReceiverNews =
  | { readonly name: "listening"; readonly port: number; readonly url: string }
  | { readonly name: "handling" };
