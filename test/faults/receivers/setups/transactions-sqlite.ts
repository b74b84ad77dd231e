import Database from "better-sqlite3";
import { sqliteTransactions } from "identity-gateway-webhooks/sqlite";
import { withTransactions } from "../transactions-receiver.js";

export const makeReceiver = withTransactions(({ databaseFile }, receiverOn) => {
  const store = sqliteTransactions({ database: new Database(databaseFile) });
  return receiverOn(store, ({ tx }, sql) => Promise.resolve(tx.exec(sql)));
});
