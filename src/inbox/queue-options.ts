import { ConfigurationError, invalidOption } from "../common/errors.js";
import {
  checkVersion,
  missingMethod,
  ownOptions,
  unsupportedVersion,
  type IntegerRule,
} from "../common/option-checks.js";

/** The name of the queue if none is given. */
export const DEFAULT_QUEUE_NAME = "gateway-deliveries";

/** When the engine runs a failed job again. Stored in each job, so every worker applies it. */
export interface RetryOptions {
  /**
   * How often the engine runs a job again after its first run has failed. After that the job is dead.
   * From 0 to 1 000, default 14. With the default delay, 14 retries take 45 hours, which is longer
   * than the gateway itself tries (GATEWAY.md, "Events", rule 3).
   */
  retryLimit?: number | undefined;
  /**
   * The delay before the first retry, in milliseconds. It doubles with each further retry. From 1 000
   * to 86 400 000, default 10 000.
   */
  retryDelayMs?: number | undefined;
}

/** Default and bounds of each retry option. */
export const RETRY_OPTIONS = {
  retryLimit: { fallback: 14, min: 0, max: 1_000 },
  retryDelayMs: { fallback: 10_000, min: 1_000, max: 86_400_000 },
} as const satisfies Record<keyof RetryOptions, IntegerRule>;

/**
 * `ownOptions` of a constructor that takes either a queue object (`queue`) or its name (`queueName`).
 * If the caller gives the other one of the two, the error says which one this constructor takes.
 */
export function ownQueueOptions<Options extends object>(
  maker: string,
  options: Options,
  known: readonly string[],
): Options {
  const [other, advice] = known.includes("queue")
    ? ["queueName", "give the Queue object of BullMQ as queue"]
    : ["queue", "give the queue's name as queueName"];
  if (Object.hasOwn(Object(options) as object, other)) {
    const message = `${other} is no option of ${maker}: ${advice}`;
    throw new ConfigurationError("unknown_option", message);
  }
  return ownOptions(maker, options, known);
}

/** Throws `ConfigurationError` unless `value` is a valid queue name. `option` is the option's name. */
export function checkQueueName(option: string, value: unknown): void {
  if (typeof value === "string" && /^[\w.-]{1,128}$/.test(value)) return;
  throw invalidOption(
    `${option} must be a queue's name: 1 to 128 letters, digits, underscores, dots or hyphens`,
  );
}

/** The versions of bullmq that work. */
export const BULLMQ = "bullmq 5.66 and later";

/** Throws `ConfigurationError` unless `boss` is an object with these methods of a `PgBoss` of pg-boss 10. */
export function checkBoss(boss: unknown, methods: readonly string[]): void {
  // pg-boss 10 has getQueueSize in its place. The tables of later majors have other columns.
  if (missingMethod(boss, ["getQueueStats"]) === undefined) {
    throw unsupportedVersion("boss", "pg-boss 11 or later", "pg-boss 10");
  }
  checkClient("boss", "a started PgBoss of pg-boss 10", boss, methods);
}

/** Throws `ConfigurationError` unless `queue` is an object with these methods of a BullMQ `Queue`. */
export function checkQueue(queue: unknown, methods: readonly string[]): void {
  checkVersion("queue", queue, methods, "bullmq", BULLMQ);
  const given = typeof queue === "string" ? " and not a queue's name" : "";
  checkClient("queue", `a Queue object of BullMQ${given}`, queue, methods);
}

function checkClient(
  option: string,
  what: string,
  client: unknown,
  methods: readonly string[],
): void {
  const missing = missingMethod(client, methods);
  if (missing === undefined) return;
  throw invalidOption(`${option} must be ${what}: it lacks the method ${missing}`);
}
