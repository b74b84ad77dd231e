/** An optional peer of an entry, or several of one version. */
export interface Peer {
  /** Names on npm. They are installed in one version. */
  readonly names: readonly [string, ...string[]];
  /** The lower bound of its range, which is open to the top. */
  readonly oldest: string;
  /** Its file in test/platforms/peers/receivers. Default: the entry's name. */
  readonly receiver?: string;
  /** Majors whose newest release is tried too, besides the newest of all. */
  readonly majors?: readonly number[];
  /** Other packages that a project has beside it, by their version for an old and for the newest release. */
  readonly beside?: Readonly<Record<string, readonly [old: string, newest: string]>>;
  /** Default: that of the entry. */
  readonly engine?: string;
  /** It is compiled after the installation. */
  readonly isCompiled?: boolean;
}

/** A store or a queue. */
export interface Plug {
  /** What it keeps: the contract of `DeliveryStore`, `TransactionalStore` or `QueueDriver`. */
  readonly kind: "lease" | "transactions" | "inbox";
  /** As the documents name it. */
  readonly title: string;
  /** What stands for it in the tests. */
  readonly testedOn?: string;
  /** The call that makes it, of a store. */
  readonly make?: string;
  /** Who takes it, of a store with leases. */
  readonly have?: string;
  /** What exactly once takes, beside a handler that is not cut off. */
  readonly exactlyOnceIf?: string;
  /** Its page, as a link of README.md. */
  readonly page: string;
  /** The test of its contract, on the real engine. Default: `contract.slow.test.ts` in its folder of tests. */
  readonly contract?: string;
  /** It goes by the clock of its process, and not by that of its server. */
  readonly clock?: "process";
  /** What a mode of `npm run faults` asks of a slow stand-in: how many delivery ids, in how many milliseconds of faults. */
  readonly slow?: { readonly ids: number; readonly faultsMs: number };
  /** Why `npm run faults` has no mode for it. */
  readonly noFaults?: string;
}

/** An entry of the package, and what it plugs in. */
export interface Entry {
  /** Its import without the name of the package; `index` for the package itself. */
  readonly name: string;
  readonly file: string;
  /** What it is for: its line in the list of the API. */
  readonly what: string;
  /** What mounts a receiver. */
  readonly handler?: string;
  /** What it is mounted in, as a link of README.md, and how. */
  readonly mounts?: readonly (readonly [on: string, code: string])[];
  /** What its stores and queues run on: its name in `test/engines.ts`. */
  readonly engine?: string;
  readonly peers?: readonly Peer[];
  readonly plugs?: readonly Plug[];
}
