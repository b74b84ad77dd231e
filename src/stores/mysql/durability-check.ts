import type { Log } from "../../answer/logger.js";
import { CallLimits, clientTimeoutMs } from "../call-limits.js";
import { onReceiverConnected } from "../receiver-hooks.js";
import { connect } from "./connection.js";
import type { MysqlPromisePool } from "./mysql-pool.js";

/** MariaDB's 3 flushes even more. */
const DURABLE: readonly number[] = [1, 3];

const READ = "SELECT @@innodb_flush_log_at_trx_commit AS flush_log";

/**
 * Warns each receiver of `store` once if a crash of the server's host can lose what was committed: no
 * session can change that for itself. Returns the function that runs the check in the background when it
 * is called first. It fails no delivery.
 */
export function durabilityCheckOf(store: object, pool: MysqlPromisePool): () => void {
  const unchecked = new Set<Log>();
  onReceiverConnected(store, (log) => {
    unchecked.add(log);
  });
  return () => {
    if (unchecked.size === 0) return;
    const logs = [...unchecked];
    unchecked.clear();
    readSetting(pool).then(
      (setting) => {
        if (DURABLE.includes(setting)) return;
        const message =
          `innodb_flush_log_at_trx_commit of the MySQL server is ${String(setting)}: a crash can lose ` +
          "deliveries that were answered 200. Set it to 1";
        for (const log of logs) log.warn(message);
      },
      () => undefined,
    );
  };
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
