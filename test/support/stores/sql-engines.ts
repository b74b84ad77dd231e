import { mysqlEngine } from "../mysql/mysql-engine.js";
import { postgresEngine } from "../postgres/postgres-engine.js";
import type { SqlEngine } from "./sql-engine.js";

/** A `describe` for each engine. Its title begins with the name of the engine. */
export function describeSql(title: string, body: (engine: SqlEngine) => void): void {
  for (const engine of [mysqlEngine, postgresEngine] as readonly SqlEngine[]) {
    engine.describe(`${engine.name}: ${title}`, () => body(engine));
  }
}
