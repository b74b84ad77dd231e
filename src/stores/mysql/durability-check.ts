import { CallLimits, clientTimeoutMs } from "../call-limits.js";
import type { StoreConnection } from "../delivery-store.js";
import { connect } from "./connection.js";
import type { MysqlPromisePool } from "./mysql-pool.js";

/** MariaDB's 3 flushes even more. */
const DURABLE: readonly number[] = [1, 3];

const READ = "SELECT @@innodb_flush_log_at_trx_commit AS flush_log";

/**
 * Warns each receiver of a store once if a crash of the server's host can lose what was committed: no
 * session can change that for itself. It fails no delivery.
 */
export class DurabilityCheck {
  readonly #pool: MysqlPromisePool;
  readonly #unchecked = new Set<StoreConnection>();

  constructor(pool: MysqlPromisePool) {
    this.#pool = pool;
  }

  /** Adds a receiver that the next check is for. */
  connect(receiver: StoreConnection): void {
    this.#unchecked.add(receiver);
  }

  /** Checks in the background, once for each receiver. */
  check(): void {
    if (this.#unchecked.size === 0) return;
    const receivers = [...this.#unchecked];
    this.#unchecked.clear();
    readSetting(this.#pool).then(
      (setting) => {
        if (DURABLE.includes(setting)) return;
        const message =
          `innodb_flush_log_at_trx_commit of the MySQL server is ${String(setting)}: a crash can lose ` +
          "deliveries that were answered 200. Set it to 1";
        for (const receiver of receivers) receiver.warn(message);
      },
      () => undefined,
    );
  }
}

async function readSetting(pool: MysqlPromisePool): Promise<number> {
  const deadline = new CallLimits().deadline();
  const { query, release, close } = await connect(pool, deadline);
  try {
    const { rows } = await query("the check", clientTimeoutMs(deadline.remainingMs()), READ);
    release();
    return Number((rows[0] as { flush_log?: unknown } | undefined)?.flush_log);
  } catch (error) {
    await close(error);
    throw error;
  }
}
