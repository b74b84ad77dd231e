import { DataTypes, Sequelize } from "sequelize";

export async function open({ dialect, connection, connections }) {
  const { host, port, user, database } = connection;
  const sequelize = new Sequelize(database, user, "", {
    dialect,
    host,
    port,
    logging: false,
    pool: { max: connections, acquire: 10_000 },
  });
  const Effect = sequelize.define(
    "effects",
    { name: { type: DataTypes.STRING(200), primaryKey: true } },
    { timestamps: false, freezeTableName: true },
  );
  return {
    transaction: (run) => sequelize.transaction(run),
    query: (transaction, sql) => sequelize.query(sql, { transaction }),
    write: (transaction, name) => Effect.create({ name }, { transaction }),
    run: (transaction, sql) => sequelize.query(sql, { transaction }),
    close: () => sequelize.close(),
  };
}
