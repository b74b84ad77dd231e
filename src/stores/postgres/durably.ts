/**
 * Waits at COMMIT until the transaction is on disk, also where server, role or handler have turned that
 * off: what is acknowledged and then lost in a crash is not sent again. Stricter settings stay. Ends with
 * the transaction.
 */
export const DURABLY =
  "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)";
