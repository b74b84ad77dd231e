import postgres from "postgres";

export async function open({ connection, connections }) {
  const { host, port, user: username, database, prepare = true } = connection;
  const sql = postgres({
    host,
    port,
    username,
    database,
    max: connections,
    prepare,
    onnotice: () => undefined,
  });
  return {
    transaction: (run) => sql.begin(run),
    query: (tx, text) => tx.unsafe(text),
    write: (tx, name) => tx`INSERT INTO effects (name) VALUES (${name})`,
    run: (tx, text) => tx.unsafe(text),
    close: () => sql.end({ timeout: 1 }),
  };
}
