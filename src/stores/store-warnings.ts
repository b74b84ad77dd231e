/** Writes one line to the log of a receiver. */
export type Warn = (message: string) => void;

/** By store: the receiver's log reaches stores of ours without being a part of what a store has to have. */
const takers = new WeakMap<object, ((warn: Warn) => void)[]>();

/** Calls `take` with the log of each receiver that `store` is given to. */
export function onReceiver(store: object, take: (warn: Warn) => void): void {
  takers.set(store, [...(takers.get(store) ?? []), take]);
}

/** Gives the log of a receiver to its store, if that has asked for it. */
export function giveWarn(store: object, warn: Warn): void {
  for (const take of takers.get(store) ?? []) take(warn);
}
