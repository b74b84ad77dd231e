import { EntitySchema } from "@mikro-orm/core";
import { MikroORM as OnLibsql } from "@mikro-orm/libsql";
import { MikroORM as OnMysql } from "@mikro-orm/mysql";
import { MikroORM as OnPostgres } from "@mikro-orm/postgresql";

const Effect = new EntitySchema({
  name: "effects",
  properties: { name: { type: "string", primary: true, length: 200 } },
});
const ORMS = { postgres: OnPostgres, mysql: OnMysql, sqlite: OnLibsql };

export async function open({ dialect, connection, connections }) {
  const { host, port, user, database, filename } = connection;
  const orm = await ORMS[dialect].init({
    ...(dialect === "sqlite" ? { dbName: filename } : { host, port, user, dbName: database }),
    entities: [Effect],
    pool: { min: 0, max: connections },
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    debug: false,
  });
  return {
    transaction: (run) => orm.em.fork().transactional(run),
    query: (em, sql) => em.getConnection().execute(sql, [], "all", em.getTransactionContext()),
    write: (em, name) => em.insert(Effect, { name }),
    run: (em, sql) => em.getConnection().execute(sql, [], "all", em.getTransactionContext()),
    close: () => orm.close(true),
  };
}
