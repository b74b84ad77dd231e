import { LEASE_MS, NO_FAULTS, type FaultCounts, type Mode } from "./mode.js";

const QUICK = { maxMs: 15, longMs: 0 };
const RECEIVERS = 4;

const LEASE = {
  setup: "lease-postgres",
  guarantee: "lease",
  engine: "postgres",
  holdMs: LEASE_MS,
} as const;
const TRANSACTIONAL = {
  setup: "transactions-postgres",
  guarantee: "transactional",
  engine: "postgres",
  holdMs: LEASE_MS,
} as const;

/** As many deliveries at once that hundreds of claims are on their way when the server stands still. */
const FROZEN = {
  faultsMs: 6_000,
  deliveries: 2_000,
  handler: QUICK,
  faults: { ...NO_FAULTS, freezes: 1 },
  traffic: { openAtOnce: 200 * RECEIVERS },
  // On a slow machine 800 claims at once take longer than the receivers of other modes wait.
  options: { dependencyTimeoutMs: 3_000 },
};

export const FROZEN_MODE: Mode = {
  name: "frozen-redis",
  title: "800 at once, server suspended for 13 s, lease, Redis",
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  holdMs: LEASE_MS,
  ...FROZEN,
};

/** The server refuses writes again and again, or ends what takes long. */
const REFUSING = { faultsMs: 8_000, deliveries: 2_000, handler: QUICK };
const READ_ONLY = { ...REFUSING, faults: { ...NO_FAULTS, kills: 2, readOnlys: 6 } };
const TIMED = {
  ...REFUSING,
  server: { statement_timeout: "40" },
  faults: { ...NO_FAULTS, kills: 2, rowLocks: 6 } satisfies FaultCounts,
};
const SERIALIZABLE = {
  ...REFUSING,
  server: { default_transaction_isolation: "serializable" },
  faults: { ...NO_FAULTS, kills: 4, cuts: 2 } satisfies FaultCounts,
  traffic: { openAtOnce: 50 * RECEIVERS },
};

export const READ_ONLY_MODE: Mode = {
  name: "read-only-lease",
  title: "writes refused, lease, PostgreSQL",
  ...LEASE,
  ...READ_ONLY,
};

/** A deadlock ends after 20 ms. */
const OPPOSITE = { faultsMs: 8_000, deliveries: 1_000, handler: QUICK, locksPairs: true } as const;

export const OPPOSITE_MODE: Mode = {
  name: "opposite-postgres",
  title: "rows locked in the opposite order, transactional",
  ...TRANSACTIONAL,
  ...OPPOSITE,
  server: { deadlock_timeout: "20" },
  faults: { ...NO_FAULTS, kills: 2 },
};

const SMALL = { faultsMs: 8_000, deliveries: 1_000, handler: QUICK, limits: { exhausted: 0 } };

export const SMALL_POOL_MODE: Mode = {
  name: "pool-2-transactions",
  title: "a pool of 2, transactional, PostgreSQL",
  poolMax: 2,
  ...TRANSACTIONAL,
  ...SMALL,
  faults: { ...NO_FAULTS, kills: 2, cuts: 1 },
};

const ON_REDIS = {
  setup: "lease-redis",
  guarantee: "lease",
  engine: "redis",
  holdMs: LEASE_MS,
} as const;
const LONG = { maxMs: 60, longMs: 1.3 * LEASE_MS };

/** A clock that jumps while leases are held: the store goes by the clock of its server. */
export const JUMP_MODE: Mode = {
  name: "jump-redis",
  title: "clocks that jump by ten minutes, lease, Redis",
  ...ON_REDIS,
  faultsMs: 8_000,
  deliveries: 1_500,
  handler: LONG,
  clocksAgree: true,
  faults: { ...NO_FAULTS, kills: 2, jumps: 12 },
};

export const FULL_MODE: Mode = {
  name: "full-redis",
  title: "no room for new keys, lease, Redis",
  ...ON_REDIS,
  ...REFUSING,
  faults: { ...NO_FAULTS, kills: 2, fulls: 6 },
};

/** The replica lacks the last writes: what was handled in that time may be handled again. */
export const FAILOVER_MODE: Mode = {
  name: "failover-redis",
  title: "a replica without the last writes takes over, Redis",
  ...ON_REDIS,
  faultsMs: 8_000,
  deliveries: 3_000,
  handler: LONG,
  faults: { ...NO_FAULTS, kills: 2, failovers: 1 },
};

const ADAPTED = {
  ...ON_REDIS,
  faultsMs: 8_000,
  deliveries: 1_500,
  handler: LONG,
  faults: { ...NO_FAULTS, kills: 4, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
} as const;

export const LAMBDA_MODE: Mode = {
  name: "lambda-redis",
  title: "lambdaHandler, lease, Redis",
  adapter: "lambda",
  ...ADAPTED,
};

/** Trouble that comes from how the server of a store or its clients are set up. */
export const SERVER_MODES: readonly Mode[] = [
  FROZEN_MODE,
  {
    name: "frozen-postgres",
    title: "800 at once, server suspended for 13 s, lease",
    ...LEASE,
    ...FROZEN,
  },
  {
    name: "frozen-transactions",
    title: "800 at once, server suspended, transactional",
    ...TRANSACTIONAL,
    ...FROZEN,
  },
  READ_ONLY_MODE,
  {
    name: "read-only-transactions",
    title: "writes refused, transactional, PostgreSQL",
    ...TRANSACTIONAL,
    ...READ_ONLY,
  },
  {
    name: "timed-lease",
    title: "statement_timeout 40 ms, rows locked, lease",
    ...LEASE,
    ...TIMED,
  },
  {
    name: "timed-transactions",
    title: "statement_timeout 40 ms, transactional",
    ...TRANSACTIONAL,
    ...TIMED,
  },
  {
    name: "serializable-lease",
    title: "all serializable, lease, PostgreSQL",
    ...LEASE,
    ...SERIALIZABLE,
  },
  {
    name: "serializable-transactions",
    title: "all serializable, transactional",
    ...TRANSACTIONAL,
    ...SERIALIZABLE,
  },
  OPPOSITE_MODE,
  {
    name: "opposite-mysql",
    title: "rows locked in the opposite order, MariaDB",
    setup: "transactions-mysql",
    guarantee: "transactional",
    engine: "mysql",
    ...OPPOSITE,
    holdMs: LEASE_MS,
    faults: { ...NO_FAULTS, kills: 2 },
  },
  {
    name: "pool-1-lease",
    title: "a pool of 1, lease, PostgreSQL",
    poolMax: 1,
    ...LEASE,
    ...SMALL,
    faults: { ...NO_FAULTS, kills: 2, cuts: 1 },
  },
  SMALL_POOL_MODE,
  JUMP_MODE,
  FULL_MODE,
  FAILOVER_MODE,
  {
    name: "fetch-redis",
    title: "fetchHandler, lease, Redis",
    adapter: "fetch",
    ...ADAPTED,
  },
  { name: "hono-redis", title: "honoHandler, lease, Redis", adapter: "hono", ...ADAPTED },
  LAMBDA_MODE,
];
