/**
 * Something that no run of the cases can prove.
 *
 * @experimental
 */
export interface NeverProven {
  /** What is not proven, as the rest of a sentence. */
  readonly what: string;
  /** How to prove it. */
  readonly proveBy: string;
}

/** What a run proves of no receiver, whatever the options are: it is short, and sees answers and counts alone. */
export const NEVER_PROVEN: readonly NeverProven[] = [
  {
    what: "that an id is remembered for 72 hours, and however many deliveries come meanwhile",
    proveBy: "read the retention and the limit of entries in the store's configuration",
  },
  {
    what: "that all processes and replicas share the ids, and that they survive a restart",
    proveBy:
      "send a delivery with an id of your own (`send --id`), restart or change the replica, and send it again: it must be a duplicate",
  },
  {
    what: "which record was handled: a count says how often, not with which content",
    proveBy: "compare a record that your handler stored with the one that was sent",
  },
];
