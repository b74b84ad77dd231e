import { mysqlTransactions } from "identity-gateway-webhooks/mysql";
import { openMysqlPool } from "../mysql-pool.js";
import { withTransactions } from "../transactions-receiver.js";

export const makeReceiver = withTransactions(({ port }, receiverOn) => {
  const store = mysqlTransactions({ pool: openMysqlPool(port) });
  return receiverOn(store, ({ tx }, sql) => tx.query(sql));
});
