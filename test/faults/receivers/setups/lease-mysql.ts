import { mysqlStore } from "identity-gateway-webhooks/mysql";
import { withLeases } from "../lease-receiver.js";
import { openMysqlPool } from "../mysql-pool.js";

export const makeReceiver = withLeases(({ port }) => mysqlStore({ pool: openMysqlPool(port) }));
