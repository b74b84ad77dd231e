import { LEASE_MS, NO_FAULTS, type FaultCounts, type Mode } from "./mode.js";

const FAILOVER = {
  engine: "postgres",
  faultsMs: 8_000,
  deliveries: 800,
  handler: { maxMs: 15, longMs: 0 },
} as const;
const FAULTS: FaultCounts = { ...NO_FAULTS, kills: 2, failovers: 1 };
const TRANSACTIONAL = {
  ...FAILOVER,
  faults: FAULTS,
  holdMs: LEASE_MS,
  ...({ setup: "transactions-postgres", guarantee: "transactional" } as const),
};
const LEASE = {
  ...FAILOVER,
  faults: FAULTS,
  holdMs: LEASE_MS,
  ...({ setup: "lease-postgres", guarantee: "lease" } as const),
};
const INBOX = {
  ...FAILOVER,
  faults: FAULTS,
  holdMs: 2_000,
  ...({ setup: "inbox-pg-boss", guarantee: "inbox" } as const),
};

/** No commit is confirmed before the standby has it. */
export const SYNCHRONOUS_MODE: Mode = {
  name: "failover-synchronous",
  title: "a synchronous standby takes over, transactional",
  ...TRANSACTIONAL,
  standby: "synchronous",
};

/** What was confirmed last is lost: these losses are counted as explained. */
export const ASYNCHRONOUS_MODE: Mode = {
  name: "failover-asynchronous",
  title: "an asynchronous standby takes over, transactional",
  ...TRANSACTIONAL,
  standby: "asynchronous",
};

/** The PostgreSQL server is killed with all its processes, and its standby takes over. */
export const FAILOVER_MODES: readonly Mode[] = [
  SYNCHRONOUS_MODE,
  ASYNCHRONOUS_MODE,
  {
    name: "failover-synchronous-lease",
    title: "a synchronous standby takes over, lease",
    ...LEASE,
    standby: "synchronous",
  },
  {
    name: "failover-asynchronous-lease",
    title: "an asynchronous standby takes over, lease",
    ...LEASE,
    standby: "asynchronous",
  },
  {
    name: "failover-synchronous-pg-boss",
    title: "a synchronous standby takes over, pg-boss",
    ...INBOX,
    standby: "synchronous",
  },
  {
    name: "failover-asynchronous-pg-boss",
    title: "an asynchronous standby takes over, pg-boss",
    ...INBOX,
    standby: "asynchronous",
  },
];
