import { describeService } from "../describe-service.js";
import { hasMysql } from "./mysql-server.js";

/** `describe` for tests that start a MariaDB server. */
export function describeMysql(title: string, body: () => void): void {
  describeService(
    title,
    hasMysql ? undefined : "mariadbd and mariadb-install-db were not found",
    body,
  );
}
