import { FILE_FAULTS, LEASE_MS, SERVER_FAULTS, type HandlerTimes, type Mode } from "./mode.js";
import { SERVER_MODES } from "./server-modes.js";
import { TROUBLE_MODES } from "./trouble-modes.js";

const LEASE_HANDLER: HandlerTimes = { maxMs: 15, longMs: 1.3 * LEASE_MS };

/** Each store and queue under fault injection. */
const STORE_MODES: readonly Omit<Mode, "name">[] = [
  {
    ...{ setup: "lease-redis", title: "lease, Redis", guarantee: "lease", engine: "redis" },
    ...{ deliveries: 6_000, holdMs: LEASE_MS, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "lease-postgres", title: "lease, PostgreSQL", guarantee: "lease" },
    ...{ engine: "postgres", deliveries: 6_000, holdMs: LEASE_MS, handler: LEASE_HANDLER },
    faults: SERVER_FAULTS,
  },
  {
    ...{ setup: "lease-mysql", title: "lease, MariaDB", guarantee: "lease", engine: "mysql" },
    ...{ deliveries: 6_000, holdMs: LEASE_MS, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "lease-sqlite", title: "lease, SQLite", guarantee: "lease", engine: "sqlite" },
    ...{ deliveries: 3_500, holdMs: LEASE_MS, handler: LEASE_HANDLER, faults: FILE_FAULTS },
  },
  {
    ...{ setup: "lease-dynamodb", title: "lease, DynamoDB (dynalite)", guarantee: "lease" },
    ...{ engine: "dynamodb", deliveries: 300, holdMs: LEASE_MS, handler: LEASE_HANDLER },
    faults: SERVER_FAULTS,
    // dynalite is slow, and a receiver loads the SDK.
    faultsMs: 40_000,
  },
  {
    ...{ setup: "transactions-postgres", title: "transactional, PostgreSQL" },
    ...{ guarantee: "transactional", engine: "postgres", deliveries: 6_000, holdMs: LEASE_MS },
    ...{ handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "transactions-mysql", title: "transactional, MariaDB" },
    ...{ guarantee: "transactional", engine: "mysql", deliveries: 6_000, holdMs: LEASE_MS },
    ...{ handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "transactions-sqlite", title: "transactional, SQLite" },
    ...{ guarantee: "transactional", engine: "sqlite", deliveries: 3_500, holdMs: LEASE_MS },
    // A handler holds the write lock of the file.
    ...{ handler: { maxMs: 0, longMs: 0 }, faults: FILE_FAULTS },
  },
  {
    ...{ setup: "inbox-pg-boss", title: "inbox, pg-boss", guarantee: "inbox" },
    ...{ engine: "postgres", deliveries: 3_500, holdMs: 2_000 },
    ...{ handler: { maxMs: 15, longMs: 0 }, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "inbox-bullmq", title: "inbox, BullMQ", guarantee: "inbox", engine: "redis" },
    ...{ deliveries: 3_500, holdMs: 2_000, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "inbox-nats", title: "inbox, NATS", guarantee: "inbox", engine: "nats" },
    ...{ deliveries: 800, holdMs: 2_000, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "inbox-rabbitmq", title: "inbox, RabbitMQ", guarantee: "inbox" },
    ...{ engine: "rabbitmq", deliveries: 800, holdMs: 2_000, handler: LEASE_HANDLER },
    faults: SERVER_FAULTS,
    // A start takes longer than the ten attempts of the gateway, so the deliveries of that time are exhausted.
    faultsMs: 40_000,
  },
];

/** The modes of a whole run. */
export const MODES: readonly Mode[] = [
  ...STORE_MODES.map((mode) => ({ ...mode, name: mode.setup })),
  ...TROUBLE_MODES,
  ...SERVER_MODES,
];
