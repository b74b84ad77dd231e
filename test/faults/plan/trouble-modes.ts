import { LEASE_MS, NO_FAULTS, type FaultCounts, type Mode } from "./mode.js";

const QUICK = { maxMs: 15, longMs: 0 };
/** Size of a receiver's pool in test/faults/receivers/postgres-pool.ts. */
const POOL_MAX = 12;
const RECEIVERS = 4;

/** When a stuck run is given up, and when its claim has ended at the latest. */
const HANDLER_MAX_MS = 2_000;
const SLOW_MACHINE_MS = 2_000;

const STUCK = {
  faultsMs: 6_000,
  deliveries: 800,
  holdMs: LEASE_MS,
  handler: { ...QUICK, stuckOneIn: 40 },
  options: { handlerTimeoutMs: 1_000, handlerMaxMs: HANDLER_MAX_MS },
  limits: { heldMs: HANDLER_MAX_MS + LEASE_MS + SLOW_MACHINE_MS },
} as const;

const OVERLOAD_AT_ONCE = 4;

const LOCKED = {
  faultsMs: 10_000,
  deliveries: 600,
  holdMs: LEASE_MS,
  handler: QUICK,
  faults: { ...NO_FAULTS, locks: 1 },
  limits: { connections: RECEIVERS * (POOL_MAX + 3) },
} as const;

const SOME_FAULTS: FaultCounts = { ...NO_FAULTS, kills: 4, restarts: 1, cuts: 2 };

/** Handlers that never settle, on Redis. */
export const STUCK_MODE: Mode = {
  name: "stuck-redis",
  title: "handlers that never settle, Redis",
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  faults: SOME_FAULTS,
  ...STUCK,
};

/** A gateway that repeats its first timestamp. Half of the runs fail, so that many attempts are late. */
export const REPEATED_MODE: Mode = {
  name: "repeated-timestamp",
  title: "timestamps repeated, Redis",
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  faults: SOME_FAULTS,
  deliveries: 1_000,
  holdMs: LEASE_MS,
  handler: QUICK,
  failRate: 0.5,
  faultsMs: 8_000,
  traffic: { repeatsTimestamp: true },
  // As long as the retention of ids.
  options: { timestampToleranceMs: 604_800_000 },
};

/** 50 times as many deliveries at once as the receivers accept. */
export const OVERLOAD_MODE: Mode = {
  name: "overload",
  title: "50 times the concurrency, Redis",
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  deliveries: 800,
  holdMs: LEASE_MS,
  handler: QUICK,
  faults: SOME_FAULTS,
  faultsMs: 6_000,
  traffic: { openAtOnce: 50 * RECEIVERS * OVERLOAD_AT_ONCE },
  options: { maxConcurrentDeliveries: OVERLOAD_AT_ONCE },
  limits: { handlersAtOnce: OVERLOAD_AT_ONCE },
};

/**
 * More deliveries at once than are handled before their answers are due, but fewer than in ten attempts. A handler
 * takes a twentieth of `handlerTimeoutMs`, as one of a second does by default.
 */
const BURST = {
  deliveries: 600,
  holdMs: LEASE_MS,
  handler: { maxMs: 150, longMs: 0 },
  failRate: 0,
  faults: NO_FAULTS,
  faultsMs: 1_000,
  healMs: 90_000,
  traffic: { openAtOnce: 600 },
  options: { handlerTimeoutMs: 3_000, dependencyTimeoutMs: 3_000 },
  limits: { exhausted: 0 },
} as const;
const BURST_AT_ONCE = 3;

/** The connections of the pools are the places. */
export const BURST_MODE: Mode = {
  name: "burst-transactions",
  title: "a burst, transactional, PostgreSQL",
  ...BURST,
  setup: "transactions-postgres",
  guarantee: "transactional",
  engine: "postgres",
  poolMax: BURST_AT_ONCE + 1,
};

const BURST_MODES: readonly Mode[] = [
  BURST_MODE,
  {
    name: "burst-sqlite",
    title: "a burst, transactional, SQLite",
    ...BURST,
    setup: "transactions-sqlite",
    guarantee: "transactional",
    engine: "sqlite",
    // One handler at a time, of all four receivers together.
    deliveries: 200,
    handler: { maxMs: 40, longMs: 0 },
  },
  {
    name: "burst-lease",
    title: "a burst, maxConcurrentDeliveries, Redis",
    ...BURST,
    setup: "lease-redis",
    guarantee: "lease",
    engine: "redis",
    options: { ...BURST.options, maxConcurrentDeliveries: BURST_AT_ONCE },
    limits: { ...BURST.limits, handlersAtOnce: BURST_AT_ONCE },
  },
];

/** A stranger sends many more requests than the gateway, and each is looked up before it is refused. */
const STRANGER_MODE: Mode = {
  name: "stranger",
  title: "20 forgeries a delivery, a secret function of 300 ms, Redis",
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  faults: SOME_FAULTS,
  deliveries: 500,
  holdMs: LEASE_MS,
  handler: QUICK,
  secretMs: 300,
  faultsMs: 8_000,
  traffic: { forgeryRate: 20 },
};

/** Each record comes by two webhooks at once, and is handled once. */
const TWO_WEBHOOKS = {
  guarantee: "lease",
  deliveries: 1_300,
  holdMs: LEASE_MS,
  handler: { maxMs: 15, longMs: 1.3 * LEASE_MS },
  faults: { ...NO_FAULTS, kills: 6, stops: 2, restarts: 1, cuts: 2, lostAnswers: 2 },
  faultsMs: 10_000,
  options: { once: "record" },
  traffic: { twoWebhooks: true },
} as const;

export const TWO_WEBHOOKS_MODE: Mode = {
  name: "two-webhooks-redis",
  title: "each record by two webhooks, Redis",
  ...TWO_WEBHOOKS,
  setup: "lease-redis",
  engine: "redis",
};

const TWO_WEBHOOKS_MODES: readonly Mode[] = [
  TWO_WEBHOOKS_MODE,
  {
    name: "two-webhooks-postgres",
    title: "each record by two webhooks, PostgreSQL",
    ...TWO_WEBHOOKS,
    setup: "lease-postgres",
    engine: "postgres",
  },
  {
    name: "two-webhooks-mysql",
    title: "each record by two webhooks, MariaDB",
    ...TWO_WEBHOOKS,
    setup: "lease-mysql",
    engine: "mysql",
  },
  {
    name: "two-webhooks-dynamodb",
    title: "each record by two webhooks, DynamoDB (dynalite)",
    ...TWO_WEBHOOKS,
    setup: "lease-dynamodb",
    engine: "dynamodb",
    deliveries: 150,
    // dynalite is slow, and a receiver loads the SDK.
    faultsMs: 40_000,
  },
  {
    name: "two-webhooks-sqlite",
    title: "each record by two webhooks, SQLite",
    ...TWO_WEBHOOKS,
    setup: "lease-sqlite",
    engine: "sqlite",
    faults: { ...NO_FAULTS, kills: 6, stops: 2 },
  },
];

/** Another client locks the table of deliveries. */
export const LOCKED_MODE: Mode = {
  name: "locked-lease",
  title: "table locked, lease, PostgreSQL",
  setup: "lease-postgres",
  ...LOCKED,
  guarantee: "lease",
  engine: "postgres",
};

/** As many deliveries at once as fill the groups of calls, while another client locks rows. */
const CROWD = {
  faultsMs: 10_000,
  deliveries: 4_000,
  holdMs: LEASE_MS,
  handler: { maxMs: 15, longMs: 1.3 * LEASE_MS },
  traffic: { openAtOnce: 200 * RECEIVERS },
  guarantee: "lease",
} as const;
const CROWD_FAULTS: FaultCounts = { ...NO_FAULTS, kills: 6, stops: 1, rowLocks: 8 };
const CROWD_SERVER_FAULTS: FaultCounts = { ...CROWD_FAULTS, restarts: 1, cuts: 2, lostAnswers: 1 };

const CROWD_MODES: readonly Mode[] = [
  {
    name: "crowd-postgres",
    title: "800 at once, rows locked, PostgreSQL",
    ...CROWD,
    setup: "lease-postgres",
    engine: "postgres",
    faults: CROWD_SERVER_FAULTS,
  },
  {
    name: "crowd-mysql",
    title: "800 at once, rows locked, MariaDB",
    ...CROWD,
    setup: "lease-mysql",
    engine: "mysql",
    faults: CROWD_SERVER_FAULTS,
  },
  {
    name: "crowd-sqlite",
    title: "800 at once, file locked, SQLite",
    ...CROWD,
    setup: "lease-sqlite",
    engine: "sqlite",
    faults: CROWD_FAULTS,
  },
];

/** The server ends all connections, at random moments. Nothing else happens. */
const ENDED = {
  engine: "postgres",
  faultsMs: 8_000,
  deliveries: 1_500,
  handler: QUICK,
  faults: { ...NO_FAULTS, endings: 8 },
} as const;

export const ENDED_MODE: Mode = {
  name: "ended-lease",
  title: "connections ended by the server, lease, PostgreSQL",
  ...ENDED,
  setup: "lease-postgres",
  guarantee: "lease",
  holdMs: LEASE_MS,
};

const ENDED_MODES: readonly Mode[] = [
  ENDED_MODE,
  {
    name: "ended-transactions",
    title: "connections ended by the server, transactional",
    ...ENDED,
    setup: "transactions-postgres",
    guarantee: "transactional",
    holdMs: LEASE_MS,
  },
  {
    name: "ended-pg-boss",
    title: "connections ended by the server, inbox, pg-boss",
    ...ENDED,
    setup: "inbox-pg-boss",
    guarantee: "inbox",
    holdMs: 2_000,
  },
];

/** The special modes of a full run: their faults are not in stores, processes or networks. */
export const TROUBLE_MODES: readonly Mode[] = [
  STUCK_MODE,
  {
    name: "stuck-transactions",
    title: "handlers that never settle, transactional",
    setup: "transactions-postgres",
    guarantee: "transactional",
    engine: "postgres",
    ...STUCK,
    faults: SOME_FAULTS,
  },
  REPEATED_MODE,
  OVERLOAD_MODE,
  ...BURST_MODES,
  STRANGER_MODE,
  ...TWO_WEBHOOKS_MODES,
  ...CROWD_MODES,
  ...ENDED_MODES,
  LOCKED_MODE,
  {
    name: "locked-transactions",
    title: "table locked, transactional, PostgreSQL",
    ...LOCKED,
    setup: "transactions-postgres",
    guarantee: "transactional",
    engine: "postgres",
  },
];
