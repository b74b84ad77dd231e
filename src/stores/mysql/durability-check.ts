import { CallLimits, clientTimeoutMs } from "../call-limits.js";
import type { StoreConnection } from "../delivery-store.js";
import { onConnection } from "./connection.js";
import type { MysqlPromisePool } from "./mysql-pool.js";

/** MariaDB's 3 flushes even more. */
const DURABLE: readonly number[] = [1, 3];

const READ = "SELECT @@innodb_flush_log_at_trx_commit AS flush_log";

/**
 * Warns each receiver of a store once if a crash of the server's host can lose what was committed: no
 * session can change that for itself. It fails no delivery.
 */
export function durabilityCheck(pool: MysqlPromisePool) {
  const unchecked = new Set<StoreConnection>();
  return {
    /** Adds a receiver that the next check is for. */
    connect(receiver: StoreConnection): void {
      unchecked.add(receiver);
    },

    /** Checks in the background, once for each receiver. */
    check(): void {
      if (unchecked.size === 0) return;
      const receivers = [...unchecked];
      unchecked.clear();
      readSetting(pool).then(
        (setting) => {
          if (DURABLE.includes(setting)) return;
          const message =
            `innodb_flush_log_at_trx_commit of the MySQL server is ${String(setting)}: a crash can lose ` +
            "deliveries that were answered 200. Set it to 1";
          for (const receiver of receivers) receiver.warn(message);
        },
        () => undefined,
      );
    },
  };
}

function readSetting(pool: MysqlPromisePool): Promise<number> {
  return onConnection(pool, async (query) => {
    const { rows } = await query("the check", clientTimeoutMs(new CallLimits().ms), READ);
    return Number((rows[0] as { flush_log?: unknown } | undefined)?.flush_log);
  });
}
