import {
  LEASE_MS,
  modeOn,
  SUBJECTS,
  type FaultCounts,
  type Mode,
  type ModeParts,
  type Setup,
} from "./mode.js";
import { SPECIAL_MODES } from "./special-modes.js";

/** Faults for a store in a file. */
const FILE_FAULTS: Partial<FaultCounts> = { kills: 16, stops: 4 };
/** Faults for a store with a server. */
const SERVER_FAULTS: Partial<FaultCounts> = {
  ...FILE_FAULTS,
  restarts: 2,
  cuts: 8,
  blackHoles: 1,
  holds: 2,
  lostAnswers: 4,
  latencies: 2,
};

/** In what a store or a queue differs from the others of its kind. */
const OWN: Readonly<Record<Setup, Partial<ModeParts>>> = {
  "lease-sqlite": { deliveries: 3_500 },
  // A handler holds the write lock of the file.
  "transactions-sqlite": { deliveries: 3_500, handler: { maxMs: 0, longMs: 0 } },
  "inbox-pg-boss": { deliveries: 3_500, handler: { maxMs: 15, longMs: 0 } },
  "inbox-bullmq": { deliveries: 3_500 },
  // A start takes longer than the ten attempts of the gateway, so the deliveries of that time are exhausted.
  "inbox-rabbitmq": { faultsMs: 40_000 },
};

/** Each store and queue of `release/entries.ts` under fault injection. */
export const STORE_MODES: readonly Mode[] = SUBJECTS.map(({ setup, kind, engine, title }) => {
  const mode = modeOn(
    setup,
    setup,
    title,
    {
      deliveries: kind === "inbox" ? 800 : 6_000,
      handler: { maxMs: 15, longMs: 1.3 * LEASE_MS },
      faults: engine === "sqlite" ? FILE_FAULTS : SERVER_FAULTS,
    },
    OWN[setup],
  );
  return { ...mode, title: `${mode.guarantee}, ${title}` };
});

/** The modes of a whole run. */
export const MODES: readonly Mode[] = [...STORE_MODES, ...SPECIAL_MODES];
