import { NO_FAULTS, type Mode } from "./mode.js";

/** Half of the runs fail, and a job is dead at its first failure. */
const TWO_OPERATORS = {
  guarantee: "inbox",
  faultsMs: 8_000,
  deliveries: 800,
  holdMs: 2_000,
  handler: { maxMs: 15, longMs: 0 },
  failRate: 0.5,
  retryLimit: 0,
  faults: { ...NO_FAULTS, replays: 12 },
} as const;

export const TWO_OPERATORS_MODE: Mode = {
  name: "two-operators-bullmq",
  title: "two operators replay all dead jobs, BullMQ",
  ...TWO_OPERATORS,
  setup: "inbox-bullmq",
  engine: "redis",
};

/** Two processes replay the dead jobs of one queue at the same time, again and again, until none is dead. */
export const OPERATOR_MODES: readonly Mode[] = [
  TWO_OPERATORS_MODE,
  {
    name: "two-operators-pg-boss",
    title: "two operators replay all dead jobs, pg-boss",
    ...TWO_OPERATORS,
    setup: "inbox-pg-boss",
    engine: "postgres",
  },
  {
    name: "two-operators-nats",
    title: "two operators replay all dead jobs, NATS",
    ...TWO_OPERATORS,
    setup: "inbox-nats",
    engine: "nats",
  },
  {
    name: "two-operators-rabbitmq",
    title: "two operators replay all dead jobs, RabbitMQ",
    ...TWO_OPERATORS,
    setup: "inbox-rabbitmq",
    engine: "rabbitmq",
  },
];
