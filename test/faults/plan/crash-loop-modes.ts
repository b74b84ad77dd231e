import { NO_FAULTS, type Mode } from "./mode.js";

const CRASH_LOOP = {
  guarantee: "inbox",
  faultsMs: 6_000,
  healMs: 150_000,
  deliveries: 120,
  holdMs: 2_000,
  failRate: 0,
  handler: { maxMs: 15, longMs: 0, killing: 2 },
  faults: NO_FAULTS,
  limits: { crashes: 15 },
} as const;

export const CRASH_LOOP_MODE: Mode = {
  name: "crash-loop-nats",
  title: "jobs that kill their workers, NATS",
  ...CRASH_LOOP,
  setup: "inbox-nats",
  engine: "nats",
};

/** Two jobs kill each process that runs them, and must be dead in the end. All others are handled. */
export const CRASH_LOOP_MODES: readonly Mode[] = [
  CRASH_LOOP_MODE,
  {
    name: "crash-loop-rabbitmq",
    title: "jobs that kill their workers, RabbitMQ",
    ...CRASH_LOOP,
    setup: "inbox-rabbitmq",
    engine: "rabbitmq",
  },
  {
    name: "crash-loop-bullmq",
    title: "jobs that kill their workers, BullMQ",
    ...CRASH_LOOP,
    setup: "inbox-bullmq",
    engine: "redis",
  },
  {
    name: "crash-loop-pg-boss",
    title: "jobs that kill their workers, pg-boss",
    ...CRASH_LOOP,
    setup: "inbox-pg-boss",
    engine: "postgres",
  },
];
