// A process whose handler writes and never ends. Arguments: ORM, dialect, port, key. Prints a line after the write.
import { sqlTransactions, type SqlDialect } from "../../../../src/stores/sql/index.js";
import { addressOf, CONNECTIONS, openOrm } from "./orm.js";

const [, , name = "", dialect, port, key = ""] = process.argv;
const { transaction, query, write } = await openOrm(
  name,
  dialect as SqlDialect,
  addressOf(dialect as SqlDialect, Number(port)),
);
const store = sqlTransactions({
  dialect: dialect as SqlDialect,
  transaction,
  query,
  connections: CONNECTIONS,
});
// A pending promise alone does not keep the process.
setInterval(() => undefined, 60_000);
await store.process(
  key,
  async (tx) => {
    await write(tx, key);
    process.stdout.write("written\n");
    await new Promise(() => undefined);
  },
  { retentionMs: 3_600_000 },
);
