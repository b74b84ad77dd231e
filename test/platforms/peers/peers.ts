import { ENTRIES } from "../../../release/entries.js";
import type { Peer as OptionalPeer } from "../../../release/entry.js";

/** One optional peer, or several of one version, with the entry of this package that uses it. */
export type Peer = OptionalPeer & { readonly entry: string; readonly receiver: string };

/** All optional peers, in the order of the table. */
export const PEERS: readonly Peer[] = ENTRIES.flatMap(({ name, engine, peers = [] }) =>
  peers.map((peer) => ({
    entry: name,
    receiver: name,
    ...(engine === undefined ? {} : { engine }),
    ...peer,
  })),
);
