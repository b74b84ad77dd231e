import { backend } from "#crypto";
import { SQLSTATE, sqlStateOf } from "./errors.js";
import { literal } from "./sql-text.js";

/**
 * The statements that the connections of a pool have prepared, so that the server parses and plans each
 * only once. A prepared statement stays on its connection.
 */
export class PreparedStatements {
  readonly #names = new Map<string, string>();
  readonly #prepared = new WeakMap<object, Set<string>>();

  /** SQL that runs `statement` with `values` on `client`, and prepares it there before the first use. */
  execute(client: object, statement: string, values: readonly unknown[]): string {
    const name = this.#nameOf(statement);
    const execute = `EXECUTE ${name} (${values.map(literal).join()})`;
    return this.#on(client).has(statement)
      ? execute
      : `PREPARE ${name} AS ${statement};\n${execute}`;
  }

  /** Notes that `client` has prepared `statement`. */
  note(client: object, statement: string): void {
    this.#on(client).add(statement);
  }

  /**
   * Whether `error` only says that `statement` is not prepared, or is prepared already: a pooler has given
   * the client another connection, or other code has removed the statement. Nothing was run then.
   */
  isWrong(client: object, statement: string, error: unknown): boolean {
    const state = sqlStateOf(error);
    if (state === SQLSTATE.usedStatementName) this.note(client, statement);
    else if (state === SQLSTATE.unknownStatementName) this.#on(client).delete(statement);
    else return false;
    return true;
  }

  #on(client: object): Set<string> {
    const statements = this.#prepared.get(client) ?? new Set<string>();
    this.#prepared.set(client, statements);
    return statements;
  }

  /** Random, so that no other store on the same connection has it for another statement. */
  #nameOf(statement: string): string {
    let name = this.#names.get(statement);
    if (name === undefined) {
      name = `identity_gateway_webhooks_${backend.randomUuid().replaceAll("-", "")}`;
      this.#names.set(statement, name);
    }
    return name;
  }
}
