import {
  LEASE_MS,
  modeOn,
  SUBJECTS,
  type FaultCounts,
  type Mode,
  type ModeParts,
  type Setup,
} from "./mode.js";

/** Receivers at a time. */
const RECEIVERS = 4;
/** Size of a receiver's pool in test/faults/receivers/postgres-pool.ts. */
const POOL_MAX = 12;
/** Some handlers outlast their leases. */
const LONG_MS = 1.3 * LEASE_MS;
const LONG_HANDLER = { maxMs: 60, longMs: LONG_MS };
const SLOW_MACHINE_MS = 2_000;
const SOME_FAULTS: Partial<FaultCounts> = { kills: 4, restarts: 1, cuts: 2 };

/** When a stuck run is given up, and when its claim has ended at the latest. */
const HANDLER_MAX_MS = 2_000;
const STUCK: ModeParts = {
  faultsMs: 6_000,
  deliveries: 800,
  handler: { maxMs: 15, longMs: 0, stuckOneIn: 40 },
  faults: SOME_FAULTS,
  options: { handlerTimeoutMs: 1_000, handlerMaxMs: HANDLER_MAX_MS },
  limits: { heldMs: HANDLER_MAX_MS + LEASE_MS + SLOW_MACHINE_MS },
};

const OVERLOAD_AT_ONCE = 4;

/**
 * More deliveries at once than are handled before their answers are due, but fewer than in ten attempts. A handler
 * takes a twentieth of `handlerTimeoutMs`, as one of a second does by default.
 */
const BURST = {
  deliveries: 600,
  handler: { maxMs: 150, longMs: 0 },
  failRate: 0,
  faultsMs: 1_000,
  healMs: 90_000,
  traffic: { openAtOnce: 600 },
  options: { handlerTimeoutMs: 3_000, dependencyTimeoutMs: 3_000 },
  limits: { exhausted: 0 },
} satisfies ModeParts;
const BURST_AT_ONCE = 3;

/** Each record comes by two webhooks at once, and is handled once. */
const TWO_WEBHOOKS: ModeParts = {
  deliveries: 1_300,
  handler: { maxMs: 15, longMs: LONG_MS },
  faults: { kills: 6, stops: 2, restarts: 1, cuts: 2, lostAnswers: 2 },
  faultsMs: 10_000,
  options: { once: "record" },
  traffic: { twoWebhooks: true },
};

/** As many deliveries at once as fill the groups of calls, while another client locks rows. */
const CROWD: ModeParts = {
  faultsMs: 10_000,
  deliveries: 4_000,
  handler: { maxMs: 15, longMs: LONG_MS },
  faults: { kills: 6, stops: 1, rowLocks: 8, restarts: 1, cuts: 2, lostAnswers: 1 },
  traffic: { openAtOnce: 200 * RECEIVERS },
};

/** The server ends all connections, at random moments. Nothing else happens. */
const ENDED: ModeParts = { faultsMs: 8_000, deliveries: 1_500, faults: { endings: 8 } };

/** Another client locks the table of deliveries. */
const LOCKED: ModeParts = {
  faultsMs: 10_000,
  deliveries: 600,
  faults: { locks: 1 },
  limits: { connections: RECEIVERS * (POOL_MAX + 3) },
};

/** As many deliveries at once that hundreds of claims are on their way when the server stands still. */
const FROZEN: ModeParts = {
  faultsMs: 6_000,
  deliveries: 2_000,
  faults: { freezes: 1 },
  traffic: { openAtOnce: 200 * RECEIVERS },
  // On a slow machine 800 claims at once take longer than the receivers of other modes wait.
  options: { dependencyTimeoutMs: 3_000 },
};

/** The server refuses writes again and again, or ends what takes long. */
const REFUSING: ModeParts = { faultsMs: 8_000, deliveries: 2_000 };
const READ_ONLY: ModeParts = { ...REFUSING, faults: { kills: 2, readOnlys: 6 } };
const TIMED: ModeParts = {
  ...REFUSING,
  server: { statement_timeout: "40" },
  faults: { kills: 2, rowLocks: 6 },
};
const SERIALIZABLE: ModeParts = {
  ...REFUSING,
  server: { default_transaction_isolation: "serializable" },
  faults: { kills: 4, cuts: 2 },
  traffic: { openAtOnce: 50 * RECEIVERS },
};
const OPPOSITE: ModeParts = {
  faultsMs: 8_000,
  deliveries: 1_000,
  locksPairs: true,
  faults: { kills: 2 },
};
const SMALL: ModeParts = {
  faultsMs: 8_000,
  deliveries: 1_000,
  limits: { exhausted: 0 },
  faults: { kills: 2, cuts: 1 },
};
const ADAPTED: ModeParts = {
  faultsMs: 8_000,
  deliveries: 1_500,
  handler: LONG_HANDLER,
  faults: { kills: 4, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
};

/** The PostgreSQL server is killed with all its processes, and its standby takes over. */
const FAILOVER: ModeParts = {
  faultsMs: 8_000,
  deliveries: 800,
  faults: { kills: 2, failovers: 1 },
};
/** No commit is confirmed before the standby has it. */
const SYNCHRONOUS: ModeParts = { ...FAILOVER, standby: "synchronous" };
/** What was confirmed last is lost: these losses are counted as explained. */
const ASYNCHRONOUS: ModeParts = { ...FAILOVER, standby: "asynchronous" };

/**
 * Half of the runs fail, and a job is dead at its first failure. Two processes replay the dead jobs of one queue at the
 * same time, again and again, until none is dead.
 */
const TWO_OPERATORS: ModeParts = {
  faultsMs: 8_000,
  deliveries: 800,
  failRate: 0.5,
  retryLimit: 0,
  faults: { replays: 12 },
};

/** Two jobs kill each process that runs them, and must be dead in the end. All others are handled. */
const CRASH_LOOP: ModeParts = {
  faultsMs: 6_000,
  healMs: 150_000,
  deliveries: 120,
  failRate: 0,
  handler: { maxMs: 15, longMs: 0, killing: 2 },
  limits: { crashes: 15 },
};

/** Each record comes under two ids to one process, which has to know it under both. */
const TWO_IDS: ModeParts = {
  deliveries: 400,
  holdMs: 1_000,
  receivers: 1,
  faultsMs: 12_000,
  options: { once: "record" },
  traffic: { twoWebhooks: true },
};
/** Longer than a lease holds, and longer than its holder may be without a sign of life. */
const AWAY_MS = 2_600;

/** Without the faults of a server. */
const IN_A_FILE: Partial<ModeParts> = { faults: { restarts: 0, cuts: 0, lostAnswers: 0 } };

/** Where a mode runs: the end of its title, and what is different there. */
type Place = readonly [setup: Setup, title: string, own?: Partial<ModeParts>];

/** The same mode in several places. `name` and `title` end with those of a place. */
function onEach(
  name: string,
  title: string,
  parts: ModeParts,
  places: Readonly<Record<string, Place>>,
): readonly Mode[] {
  return Object.entries(places).map(([end, [setup, where, own]]) =>
    modeOn(setup, `${name}-${end}`, `${title} ${where}`, parts, own),
  );
}

/** The stores with leases that have a server. */
const LEASES_ON_SERVERS: Readonly<Record<string, Place>> = Object.fromEntries(
  SUBJECTS.filter(({ kind, engine }) => kind === "lease" && engine !== "sqlite").map(
    ({ entry, setup, title }) => [entry, [setup, title] as const],
  ),
);

const QUEUES: Readonly<Record<string, Place>> = {
  bullmq: ["inbox-bullmq", "BullMQ"],
  "pg-boss": ["inbox-pg-boss", "pg-boss"],
  nats: ["inbox-nats", "NATS"],
  rabbitmq: ["inbox-rabbitmq", "RabbitMQ"],
};

/** Modes about one fault, or about how a server or its clients are set up. */
export const SPECIAL_MODES: readonly Mode[] = [
  ...onEach("stuck", "handlers that never settle,", STUCK, {
    redis: ["lease-redis", "Redis"],
    transactions: ["transactions-postgres", "transactional"],
  }),
  // A gateway that repeats its first timestamp. Half of the runs fail, so that many attempts are late.
  modeOn("lease-redis", "repeated-timestamp", "timestamps repeated, Redis", {
    faults: SOME_FAULTS,
    deliveries: 1_000,
    failRate: 0.5,
    faultsMs: 8_000,
    traffic: { repeatsTimestamp: true },
    // As long as the retention of ids.
    options: { timestampToleranceMs: 604_800_000 },
  }),
  // 50 times as many deliveries at once as the receivers accept.
  modeOn("lease-redis", "overload", "50 times the concurrency, Redis", {
    deliveries: 800,
    faults: SOME_FAULTS,
    faultsMs: 6_000,
    traffic: { openAtOnce: 50 * RECEIVERS * OVERLOAD_AT_ONCE },
    options: { maxConcurrentDeliveries: OVERLOAD_AT_ONCE },
    limits: { handlersAtOnce: OVERLOAD_AT_ONCE },
  }),
  ...onEach("burst", "a burst,", BURST, {
    // The connections of the pools are the places.
    transactions: [
      "transactions-postgres",
      "transactional, PostgreSQL",
      { poolMax: BURST_AT_ONCE + 1 },
    ],
    // One handler at a time, of all four receivers together.
    sqlite: [
      "transactions-sqlite",
      "transactional, SQLite",
      { deliveries: 200, handler: { maxMs: 40, longMs: 0 } },
    ],
    lease: [
      "lease-redis",
      "maxConcurrentDeliveries, Redis",
      {
        options: { ...BURST.options, maxConcurrentDeliveries: BURST_AT_ONCE },
        limits: { ...BURST.limits, handlersAtOnce: BURST_AT_ONCE },
      },
    ],
  }),
  // A stranger sends many more requests than the gateway, and each is looked up before it is refused.
  modeOn("lease-redis", "stranger", "20 forgeries a delivery, a secret function of 300 ms, Redis", {
    faults: SOME_FAULTS,
    deliveries: 500,
    secretMs: 300,
    faultsMs: 8_000,
    traffic: { forgeryRate: 20 },
  }),
  ...onEach("two-webhooks", "each record by two webhooks,", TWO_WEBHOOKS, {
    ...LEASES_ON_SERVERS,
    sqlite: ["lease-sqlite", "SQLite", IN_A_FILE],
  }),
  ...onEach("crowd", "800 at once,", CROWD, {
    postgres: ["lease-postgres", "rows locked, PostgreSQL"],
    mysql: ["lease-mysql", "rows locked, MariaDB"],
    sqlite: ["lease-sqlite", "file locked, SQLite", IN_A_FILE],
  }),
  ...onEach("ended", "connections ended by the server,", ENDED, {
    lease: ["lease-postgres", "lease, PostgreSQL"],
    transactions: ["transactions-postgres", "transactional"],
    "pg-boss": ["inbox-pg-boss", "inbox, pg-boss"],
  }),
  ...onEach("locked", "table locked,", LOCKED, {
    lease: ["lease-postgres", "lease, PostgreSQL"],
    transactions: ["transactions-postgres", "transactional, PostgreSQL"],
  }),
  ...onEach("frozen", "800 at once,", FROZEN, {
    redis: ["lease-redis", "server suspended for 13 s, lease, Redis"],
    postgres: ["lease-postgres", "server suspended for 13 s, lease"],
    transactions: ["transactions-postgres", "server suspended, transactional"],
  }),
  ...onEach("read-only", "writes refused,", READ_ONLY, {
    lease: ["lease-postgres", "lease, PostgreSQL"],
    transactions: ["transactions-postgres", "transactional, PostgreSQL"],
  }),
  ...onEach("timed", "statement_timeout 40 ms,", TIMED, {
    lease: ["lease-postgres", "rows locked, lease"],
    transactions: ["transactions-postgres", "transactional"],
  }),
  ...onEach("serializable", "all serializable,", SERIALIZABLE, {
    lease: ["lease-postgres", "lease, PostgreSQL"],
    transactions: ["transactions-postgres", "transactional"],
  }),
  ...onEach("opposite", "rows locked in the opposite order,", OPPOSITE, {
    // A deadlock ends after 20 ms.
    postgres: ["transactions-postgres", "transactional", { server: { deadlock_timeout: "20" } }],
    mysql: ["transactions-mysql", "MariaDB"],
  }),
  ...onEach("pool", "a pool of", SMALL, {
    "1-lease": ["lease-postgres", "1, lease, PostgreSQL", { poolMax: 1 }],
    "2-transactions": ["transactions-postgres", "2, transactional, PostgreSQL", { poolMax: 2 }],
  }),
  // A clock that jumps while leases are held: the store goes by the clock of its server.
  modeOn("lease-redis", "jump-redis", "clocks that jump by ten minutes, lease, Redis", {
    faultsMs: 8_000,
    deliveries: 1_500,
    handler: LONG_HANDLER,
    clocksAgree: true,
    faults: { kills: 2, jumps: 12 },
  }),
  modeOn("lease-redis", "full-redis", "no room for new keys, lease, Redis", {
    ...REFUSING,
    faults: { kills: 2, fulls: 6 },
  }),
  // The replica lacks the last writes: what was handled in that time may be handled again.
  modeOn("lease-redis", "failover-redis", "a replica without the last writes takes over, Redis", {
    ...FAILOVER,
    deliveries: 3_000,
    handler: LONG_HANDLER,
  }),
  ...(["fetch", "hono", "lambda"] as const).map((adapter) =>
    modeOn("lease-redis", `${adapter}-redis`, `${adapter}Handler, lease, Redis`, ADAPTED, {
      adapter,
    }),
  ),
  // No commit is confirmed before the standby has it.
  modeOn(
    "transactions-postgres",
    "failover-synchronous",
    "a synchronous standby takes over, transactional",
    SYNCHRONOUS,
  ),
  // What was confirmed last is lost: these losses are counted as explained.
  modeOn(
    "transactions-postgres",
    "failover-asynchronous",
    "an asynchronous standby takes over, transactional",
    ASYNCHRONOUS,
  ),
  ...onEach("failover-synchronous", "a synchronous standby takes over,", SYNCHRONOUS, {
    lease: ["lease-postgres", "lease"],
    "pg-boss": ["inbox-pg-boss", "pg-boss"],
  }),
  ...onEach("failover-asynchronous", "an asynchronous standby takes over,", ASYNCHRONOUS, {
    lease: ["lease-postgres", "lease"],
    "pg-boss": ["inbox-pg-boss", "pg-boss"],
  }),
  ...onEach("two-operators", "two operators replay all dead jobs,", TWO_OPERATORS, QUEUES),
  ...onEach("crash-loop", "jobs that kill their workers,", CRASH_LOOP, QUEUES),
  ...onEach("two-ids", "two ids in one process,", TWO_IDS, {
    // The leases of the handlers that run end while the process is blocked.
    pause: [
      "lease-redis",
      "which is blocked, Redis",
      { handler: { maxMs: 1_000, longMs: 0 }, blocksMs: AWAY_MS },
    ],
    // The lease of what was handled ends before the store has taken its completion.
    completion: ["lease-redis", "completions wait, Redis", { refusesCompletionsMs: AWAY_MS }],
  }),
];
