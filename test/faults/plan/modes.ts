import { ENTRIES } from "../../../release/entries.js";
import {
  FILE_FAULTS,
  LEASE_MS,
  SERVER_FAULTS,
  type HandlerTimes,
  type Mode,
  type Setup,
} from "./mode.js";
import { CRASH_LOOP_MODES } from "./crash-loop-modes.js";
import { FAILOVER_MODES } from "./failover-modes.js";
import { OPERATOR_MODES } from "./operator-modes.js";
import { SERVER_MODES } from "./server-modes.js";
import { TROUBLE_MODES } from "./trouble-modes.js";
import { TWO_IDS_MODES } from "./two-ids-modes.js";

const LEASE_HANDLER: HandlerTimes = { maxMs: 15, longMs: 1.3 * LEASE_MS };

const QUICK_HANDLER: HandlerTimes = { maxMs: 15, longMs: 0 };

const GUARANTEES = { lease: "lease", transactions: "transactional", inbox: "inbox" } as const;

/** In what a store or a queue differs from the others of its kind. */
const OWN: Readonly<Record<Setup, Partial<Mode>>> = {
  "lease-sqlite": { deliveries: 3_500, faults: FILE_FAULTS },
  // dynalite is slow, and a receiver loads the SDK.
  "lease-dynamodb": { deliveries: 300, faultsMs: 40_000 },
  // A handler holds the write lock of the file.
  "transactions-sqlite": {
    deliveries: 3_500,
    faults: FILE_FAULTS,
    handler: { maxMs: 0, longMs: 0 },
  },
  "inbox-pg-boss": { deliveries: 3_500, handler: QUICK_HANDLER },
  "inbox-bullmq": { deliveries: 3_500 },
  // A start takes longer than the ten attempts of the gateway, so the deliveries of that time are exhausted.
  "inbox-rabbitmq": { faultsMs: 40_000 },
};

/** Each store and queue of `release/entries.ts` under fault injection. */
export const STORE_MODES: readonly Mode[] = ENTRIES.flatMap(({ name, engine, plugs = [] }) =>
  plugs.flatMap(({ kind, title, testedOn = title, noFaults }) => {
    if (engine === undefined || noFaults !== undefined) return [];
    const setup: Setup = `${kind}-${name}`;
    const guarantee = GUARANTEES[kind];
    const isInbox = kind === "inbox";
    return {
      name: setup,
      setup,
      guarantee,
      engine,
      title: `${guarantee}, ${testedOn}`,
      deliveries: isInbox ? 800 : 6_000,
      holdMs: isInbox ? 2_000 : LEASE_MS,
      handler: LEASE_HANDLER,
      faults: SERVER_FAULTS,
      ...OWN[setup],
    };
  }),
);

/** The modes of a whole run. */
export const MODES: readonly Mode[] = [
  ...STORE_MODES,
  ...TROUBLE_MODES,
  ...SERVER_MODES,
  ...FAILOVER_MODES,
  ...OPERATOR_MODES,
  ...CRASH_LOOP_MODES,
  ...TWO_IDS_MODES,
];
