import { DataSource, EntitySchema } from "typeorm";

const Effect = new EntitySchema({
  name: "effects",
  columns: { name: { type: "varchar", length: 200, primary: true } },
});
const EXTRA = {
  postgres: (max) => ({ extra: { max } }),
  mysql: (connectionLimit) => ({ extra: { connectionLimit } }),
  sqlite: () => ({ timeout: 20 }),
};
const TYPES = { postgres: "postgres", mysql: "mysql", sqlite: "better-sqlite3" };

export async function open({ dialect, connection, connections }) {
  const { filename, user, ...address } = connection;
  const db = new DataSource({
    type: TYPES[dialect],
    ...address,
    ...(dialect === "sqlite" ? { database: filename } : { username: user, poolSize: connections }),
    entities: [Effect],
    ...EXTRA[dialect](connections),
  });
  await db.initialize();
  return {
    transaction: (run) => db.transaction(run),
    query: (tx, sql) => tx.query(sql),
    write: (tx, name) => tx.insert(Effect, { name }),
    run: (tx, sql) => tx.query(sql),
    close: () => db.destroy(),
  };
}
