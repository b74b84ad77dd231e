// The servers that stores and queues are tested on, and the programs that `npm run test:all` needs beside Node. Run by
// itself it prints the Debian packages of the missing ones on one line, which `.ci/run` installs.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRIES } from "../release/entries.js";
import type { Mode } from "./faults/plan/mode.js";
import type { StoreServer } from "./faults/stores/store-server.js";

/** A program, or several that come together. */
interface Program {
  readonly name: string;
  /** Package of Debian. */
  readonly debian: string;
  /** What it must have on the PATH, or in one of `folders`. */
  readonly commands: readonly string[];
  /** Where Debian puts commands that are not on everyone's PATH. */
  readonly folders?: readonly string[];
}

const POSTGRES = "/usr/lib/postgresql";
const postgresFolders = existsSync(POSTGRES)
  ? readdirSync(POSTGRES).map((version) => path.join(POSTGRES, version, "bin"))
  : [];

/** What stores and queues run on. Its code is loaded when it starts. */
interface EngineServer {
  readonly name: string;
  readonly program?: Omit<Program, "name">;
  /** The folder of test/platforms/ that has it or its client. */
  readonly folder?: string;
  /** Starts one, with the address that the receivers of test/platforms/peers connect to. */
  readonly start?: () => Promise<{
    readonly address: object;
    readonly close: () => Promise<unknown>;
  }>;
  /** Starts the one that the receivers of a mode of test/faults share. `file` is the path for SQLite. */
  readonly startForFaults?: (mode: Mode, file: string) => Promise<StoreServer>;
}

const HOST = "127.0.0.1";

/** Those that `release/entries.ts` names. */
export const ENGINES: Readonly<Record<string, EngineServer>> = {
  postgres: {
    name: "PostgreSQL",
    program: {
      debian: "postgresql",
      commands: ["initdb", "postgres"],
      folders: postgresFolders,
    },
    async start() {
      const { startPostgres } = await import("./support/postgres/postgres-server.js");
      const { port, close } = await startPostgres();
      return { address: { url: `postgres://postgres@${HOST}:${String(port)}/postgres` }, close };
    },
    startForFaults: async (mode) =>
      (await import("./faults/stores/postgres.js")).openPostgres(mode),
  },
  mysql: {
    name: "MariaDB",
    program: {
      debian: "mariadb-server",
      commands: ["mariadbd", "mariadb-install-db"],
      folders: ["/usr/sbin"],
    },
    async start() {
      const { startMysql } = await import("./support/mysql/mysql-server.js");
      const { port, close } = await startMysql();
      return { address: { host: HOST, port }, close };
    },
    startForFaults: async ({ setup }) =>
      (await import("./faults/stores/mysql.js")).openMysql(setup),
  },
  sqlite: {
    name: "SQLite",
    startForFaults: async ({ setup }, file) =>
      (await import("./faults/stores/sqlite.js")).openSqlite(setup, file),
  },
  redis: {
    name: "Redis",
    program: { debian: "redis-server", commands: ["redis-server"] },
    async start() {
      const { startRedisServer } = await import("./support/redis/redis-server.js");
      const { port, close } = await startRedisServer({ "maxmemory-policy": "noeviction" });
      return { address: { host: HOST, port }, close };
    },
    startForFaults: async (mode) => (await import("./faults/stores/redis.js")).openRedis(mode),
  },
  "redis-http": {
    name: "Redis over HTTP",
    folder: "upstash",
    async start() {
      const { startRedisServer } = await import("./support/redis/redis-server.js");
      const { startRedisHttpFront } = await import("./support/redis/http-front.js");
      const redis = await startRedisServer();
      const { url, token, close } = await startRedisHttpFront(redis.url);
      return { address: { url, token }, close: () => close().then(redis.close) };
    },
  },
  dynamodb: {
    name: "DynamoDB (dynalite)",
    folder: "dynamodb",
    async start() {
      const { startDynalite } = await import("./support/dynamodb/dynamodb.js");
      const { url, close } = await startDynalite({ inMemory: true });
      return { address: { url }, close };
    },
    startForFaults: async () => (await import("./support/dynamodb/dynamodb.js")).openDynamodb(),
  },
  nats: {
    name: "NATS",
    program: { debian: "nats-server", commands: ["nats-server"], folders: ["/usr/sbin"] },
    async start() {
      const { startNatsServer } = await import("./support/nats/nats-server.js");
      const { url, close } = await startNatsServer();
      return { address: { servers: url }, close };
    },
    startForFaults: async (_mode, file) =>
      (await import("./faults/stores/brokers.js")).openNats(file),
  },
  rabbitmq: {
    name: "RabbitMQ",
    program: {
      debian: "rabbitmq-server",
      commands: ["rabbitmq-server", "epmd"],
      folders: ["/usr/lib/rabbitmq/bin"],
    },
    async start() {
      const { startRabbitmq } = await import("./support/rabbitmq/rabbitmq-server.js");
      const { url, close } = await startRabbitmq();
      return { address: { url }, close };
    },
    startForFaults: async (_mode, file) =>
      (await import("./faults/stores/brokers.js")).openRabbitmq(file),
  },
  sqs: {
    name: "SQS (fauxqs)",
    folder: "sqs",
    async start() {
      const { startSqs } = await import("./support/inbox/sqs-engine.js");
      const { url, close } = await startSqs();
      return { address: { url }, close };
    },
  },
  workerd: { name: "workerd", folder: "cloudflare" },
};

/** The folders of test/platforms/ that have what the entries which `code` imports run on. */
export function foldersFor(code: string): readonly string[] {
  return ENTRIES.filter(({ name }) => code.includes(`"identity-gateway-webhooks/${name}"`)).flatMap(
    ({ engine }) => ENGINES[engine ?? ""]?.folder ?? [],
  );
}

const PROGRAMS: readonly Program[] = [
  ...Object.values(ENGINES).flatMap(({ name, program }) =>
    program === undefined ? [] : [{ name, ...program }],
  ),
  { name: "PgBouncer", debian: "pgbouncer", commands: ["pgbouncer"], folders: ["/usr/sbin"] },
  { name: "Chromium", debian: "chromium", commands: ["chromium"] },
  { name: "Prometheus", debian: "prometheus", commands: ["prometheus", "promtool"] },
  { name: "a C++ compiler", debian: "g++", commands: ["g++"] },
  { name: "a C compiler", debian: "gcc", commands: ["gcc"] },
  { name: "Spin", debian: "spin", commands: ["spin"] },
  { name: "make", debian: "make", commands: ["make"] },
  { name: "Python", debian: "python3", commands: ["python3"] },
  { name: "PHP", debian: "php-cli", commands: ["php"] },
  { name: "nginx", debian: "nginx-light", commands: ["nginx"], folders: ["/usr/sbin"] },
  { name: "OpenSSL", debian: "openssl", commands: ["openssl"] },
  { name: "curl", debian: "curl", commands: ["curl"] },
  { name: "zip", debian: "zip", commands: ["zip"] },
  { name: "unzip", debian: "unzip", commands: ["unzip"] },
  { name: "git", debian: "git", commands: ["git"] },
];

const PATH = (process.env["PATH"] ?? "").split(path.delimiter);

function isThere({ commands, folders = [] }: Program): boolean {
  return commands.every((command) =>
    [...PATH, ...folders].some((folder) => existsSync(path.join(folder, command))),
  );
}

/** The programs that this machine lacks. */
export const missingPrograms = PROGRAMS.filter((program) => !isThere(program));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${missingPrograms.map(({ debian }) => debian).join(" ")}\n`);
}
