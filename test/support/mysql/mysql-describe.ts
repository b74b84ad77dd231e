import { describeService } from "../describe-service.js";
import { mysqlBinaries } from "./mysql-server.js";

/** `describe` for tests that start a MariaDB server. */
export function describeMysql(title: string, body: () => void): void {
  const isThere = mysqlBinaries !== undefined;
  describeService(
    title,
    isThere ? undefined : "mariadbd and mariadb-install-db were not found",
    body,
  );
}
