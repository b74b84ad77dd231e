import knex from "knex";

/** The query builder, on a database of the tests. */
export async function open({ dialect, connection, connections }) {
  const clients = { postgres: "pg", mysql: "mysql2", sqlite: "better-sqlite3" };
  const db = knex({
    client: clients[dialect],
    connection,
    useNullAsDefault: dialect === "sqlite",
    pool: {
      min: 0,
      max: dialect === "sqlite" ? 1 : connections,
      afterCreate(raw, done) {
        if (dialect === "sqlite") raw.pragma("busy_timeout = 20");
        done(null, raw);
      },
    },
  });
  return {
    transaction: (run) => db.transaction(run),
    query: (tx, sql) => tx.raw(sql),
    write: (tx, text) => tx("effects").insert({ name: text }),
    run: (tx, sql) => tx.raw(sql),
    close: () => db.destroy(),
  };
}
