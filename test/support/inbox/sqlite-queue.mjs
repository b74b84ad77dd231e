// The queue of a partner who keeps jobs in SQLite, as the file of `jobs --module`. QUEUE_FILE is the database.
import Database from "libsql";

const db = new Database(process.env.QUEUE_FILE);
db.exec(`CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, data TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0, failed_at INTEGER, error TEXT)`);
const run = (sql, ...values) => db.prepare(sql).run(...values).changes > 0;
const all = (sql, ...values) => db.prepare(sql).all(...values);
const dead = (limit = -1, offset = 0) =>
  all(
    "SELECT * FROM jobs WHERE failed_at > 0 ORDER BY failed_at, id LIMIT ? OFFSET ?",
    limit,
    offset,
  );

export const driver = {
  name: "sqlite",
  extends: "message",
  async put(job) {
    run("INSERT OR IGNORE INTO jobs (id, data) VALUES (?, ?)", job.id, JSON.stringify(job));
  },
  receive(take, { leaseMs }) {
    const poll = () => {
      const now = Date.now();
      for (const job of all("SELECT * FROM jobs WHERE failed_at IS NULL AND due_at <= ?", now)) {
        run(
          "UPDATE jobs SET attempt = attempt + 1, due_at = ? WHERE id = ?",
          now + leaseMs,
          job.id,
        );
        void take(messageOf(job));
      }
    };
    const timer = setInterval(poll, 5);
    return { stop: async () => clearInterval(timer) };
  },
  async list({ limit, offset }) {
    return dead(limit, offset).map(({ id, data, attempt, failed_at, error }) => {
      const { type } = JSON.parse(data);
      return { id, type, attempts: attempt, failedAt: new Date(failed_at), error };
    });
  },
  async replay(ids, { max = Infinity }) {
    const again =
      "UPDATE jobs SET failed_at = NULL, attempt = 0, due_at = 0 WHERE id = ? AND failed_at > 0";
    const wanted = ids === "all" ? dead().map(({ id }) => id) : ids;
    const replayed = wanted.slice(0, max).filter((id) => run(again, id));
    return { replayed, notFound: ids === "all" ? [] : ids.filter((id) => !replayed.includes(id)) };
  },
  async discard(which) {
    const isOf = ({ data }) =>
      JSON.parse(JSON.parse(data).body).alarm.account_id === which.accountId;
    const ids = Array.isArray(which)
      ? which
      : dead()
          .filter(isOf)
          .map(({ id }) => id);
    const discarded = ids.filter((id) =>
      run("DELETE FROM jobs WHERE id = ? AND failed_at > 0", id),
    );
    return { discarded, notFound: ids.filter((id) => !discarded.includes(id)) };
  },
};

function messageOf({ id, data, attempt }) {
  return {
    id,
    data: JSON.parse(data),
    attempt: attempt + 1,
    extend: async (ms) => run("UPDATE jobs SET due_at = ? WHERE id = ?", Date.now() + ms, id),
    async settle({ result, afterMs, error }) {
      if (result === "done") return run("DELETE FROM jobs WHERE id = ?", id);
      const columns = result === "dead" ? "failed_at = ?, error = ?" : "due_at = ?, error = ?";
      const time = Date.now() + (afterMs ?? 0);
      return run(`UPDATE jobs SET ${columns} WHERE id = ?`, time, error?.message ?? null, id);
    },
  };
}
