import { describeService } from "../describe-service.js";
import { postgresBinaries } from "./postgres-server.js";

/** `describe` for tests that start a PostgreSQL server. */
export function describePostgres(title: string, body: () => void): void {
  const isThere = postgresBinaries !== undefined;
  describeService(title, isThere ? undefined : "initdb and postgres were not found", body);
}
