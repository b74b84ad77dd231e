/** What `init` adds to a server for a store. */
export interface InitStore {
  readonly packages: readonly string[];
  readonly tools?: readonly string[];
  readonly imports: readonly string[];
  /** Makes `store`. */
  readonly code: readonly string[];
  /** Makes `close`, for a process that has had its last delivery. */
  readonly close: string;
  /** The variable that says where the server is. */
  readonly url?: string;
}

/** Makes the table, and deletes rows whose retention has ended; keeps no process alive. */
const MIGRATE_AND_PURGE = [
  "void store.migrate().catch(console.error);",
  "setInterval(() => void store.purge().catch(console.error), 3_600_000).unref();",
];

/** The stores of `init` on several hosts or on a disk. The memory store needs nothing. */
export const STORES: Readonly<Record<string, InitStore>> = {
  sqlite: {
    packages: ["better-sqlite3"],
    tools: ["@types/better-sqlite3"],
    imports: [
      'import Database from "better-sqlite3";',
      'import { sqliteStore } from "identity-gateway-webhooks/sqlite";',
    ],
    code: [
      'const database = new Database("deliveries.db");',
      "const store = sqliteStore({ database });",
    ],
    close: "() => database.close()",
  },
  redis: {
    packages: ["ioredis"],
    imports: [
      'import { Redis } from "ioredis";',
      'import { redisStore } from "identity-gateway-webhooks/redis";',
    ],
    code: [
      "// Both options let the client find its way back from a dead connection.",
      'const client = new Redis(process.env["REDIS_URL"] ?? "", {',
      "  socketTimeout: 5_000,",
      '  reconnectOnError: (error) => (error.message.includes("READONLY") ? 2 : false),',
      "});",
      'client.on("error", console.error);',
      "const store = redisStore({ client });",
    ],
    close: "() => client.quit()",
    url: "REDIS_URL",
  },
  postgres: {
    packages: ["pg"],
    tools: ["@types/pg"],
    imports: [
      'import pg from "pg";',
      'import { postgresStore } from "identity-gateway-webhooks/postgres";',
    ],
    code: [
      'const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });',
      'pool.on("error", console.error);',
      "const store = postgresStore({ pool });",
      ...MIGRATE_AND_PURGE,
    ],
    close: "() => pool.end()",
    url: "DATABASE_URL",
  },
  mysql: {
    packages: ["mysql2"],
    imports: [
      'import mysql from "mysql2/promise";',
      'import { mysqlStore } from "identity-gateway-webhooks/mysql";',
    ],
    code: [
      'const pool = mysql.createPool(process.env["DATABASE_URL"] ?? "");',
      "const store = mysqlStore({ pool });",
      ...MIGRATE_AND_PURGE,
    ],
    close: "() => pool.end()",
    url: "DATABASE_URL",
  },
};

/**
 * An example with the store in place of the memory store: `openStore` makes it. The test of a server sets
 * `GATEWAY_STORE`; that of a module gives it a store.
 */
export function withStore(text: string, { imports, code, close }: InitStore): string {
  const open = `
/** Where deliveries are remembered. */
function openStore() {
${lines(code.map((line) => `  ${line}`))}  return { store, close: ${close} };
}
`;
  const opened = `
// The test leaves your data alone.
const isTest = process.env["GATEWAY_STORE"] === "memory";
const { store, close } = isTest ? { store: memoryStore(), close: () => undefined } : openStore();
`;
  return text
    .replace(/^import \{ createWebhookReceiver.*\n/m, (line) => `${line}${lines(imports)}`)
    .replace("import { createWebhookReceiver }", "import { createWebhookReceiver, memoryStore }")
    .replace(/\n(?=const receiver = )/, () => `${open}${opened}\n`)
    .replace(/^ {2}secret: .*\n/m, (line) => `${line}  store,\n`)
    .replace("receiver.drain();", "receiver.drain().then(close);")
    .replace("memoryStore, type", "type")
    .replace("store = memoryStore()", "store = openStore().store")
    .replace(/\n(?=\/\*\* The receiver\. Its)/, () => `${open}\n`);
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}
