import { describeService } from "../describe-service.js";
import { hasPostgres } from "./postgres-server.js";

/** `describe` for tests that start a PostgreSQL server. */
export function describePostgres(title: string, body: () => void): void {
  describeService(title, hasPostgres ? undefined : "initdb and postgres were not found", body);
}
