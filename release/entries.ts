// The one table of what the package has: a row an entry, with the stores, queues and frameworks that it plugs in.
// `npm run generate` makes package.json and tables of the documents of it, the build and the tests read it, and
// `check-entries.ts` says what a row still lacks. CONTRIBUTING.md has the steps to add one.
import type { Entry } from "./entry.js";
import { FRAMEWORKS } from "./frameworks.js";

const OWN_ROWS = "#the-handlers-writes-in-the-same-transaction";
const SQL_CONTRACT = "test/stores/sql/contract.slow.test.ts";
const SQLITE_CONTRACTS = "test/support/sqlite/all-cases.ts";
const ON_MARIADB = { testedOn: "MariaDB" };
const EMULATED = "its emulator says nothing of what the service keeps";

/** In the order of package.json. */
export const ENTRIES: readonly Entry[] = [
  {
    name: "index",
    file: "src/index.ts",
    what: "`createWebhookReceiver`, the records, the outcomes and the errors",
  },
  { name: "schemas", file: "src/records/schemas.ts", what: "the records as Standard Schemas" },
  ...FRAMEWORKS,
  {
    name: "redis",
    file: "src/stores/redis/index.ts",
    what: "a store in Redis",
    engine: "redis",
    peers: [
      { names: ["redis"], oldest: "5.0.0" },
      { names: ["ioredis"], oldest: "5.0.0", receiver: "ioredis" },
      { names: ["@upstash/redis"], oldest: "1.34.0", receiver: "upstash", engine: "redis-http" },
    ],
    plugs: [
      {
        kind: "lease",
        title: "Redis",
        make: "redisStore({ client })",
        have: "several hosts and a Redis, also Upstash",
        exactlyOnceIf: "as long as Redis keeps its data",
        page: "docs/stores/redis.md",
      },
    ],
  },
  {
    name: "postgres",
    file: "src/stores/postgres/index.ts",
    what: "a store and transactions in PostgreSQL",
    engine: "postgres",
    peers: [{ names: ["pg"], oldest: "8.0.3", receiver: "pg" }],
    plugs: [
      {
        kind: "lease",
        title: "PostgreSQL",
        make: "postgresStore({ pool })",
        have: "several hosts and a PostgreSQL",
        page: "docs/stores/postgresql.md",
        contract: SQL_CONTRACT,
      },
      {
        kind: "transactions",
        title: "PostgreSQL",
        make: "postgresTransactions({ pool })",
        page: `docs/stores/postgresql.md${OWN_ROWS}`,
        contract: SQL_CONTRACT,
      },
    ],
  },
  {
    name: "sqlite",
    file: "src/stores/sqlite/index.ts",
    what: "a store and transactions in SQLite",
    engine: "sqlite",
    peers: [
      {
        names: ["better-sqlite3"],
        oldest: "11.0.0",
        receiver: "better-sqlite3",
        majors: [12],
        isCompiled: true,
      },
      { names: ["libsql"], oldest: "0.5.1", receiver: "libsql" },
    ],
    plugs: [
      {
        kind: "lease",
        title: "SQLite",
        make: "sqliteStore({ database })",
        have: "one host",
        page: "docs/stores/sqlite.md",
        contract: SQLITE_CONTRACTS,
      },
      {
        kind: "transactions",
        title: "SQLite",
        make: "sqliteTransactions({ database })",
        page: `docs/stores/sqlite.md${OWN_ROWS}`,
        contract: SQLITE_CONTRACTS,
      },
    ],
  },
  {
    name: "mysql",
    file: "src/stores/mysql/index.ts",
    what: "a store and transactions in MySQL and MariaDB",
    engine: "mysql",
    peers: [{ names: ["mysql2"], oldest: "3.0.0", receiver: "mysql2" }],
    plugs: [
      {
        kind: "lease",
        title: "MySQL",
        make: "mysqlStore({ pool })",
        ...ON_MARIADB,
        have: "several hosts and a MySQL or MariaDB",
        page: "docs/stores/mysql.md",
        contract: SQL_CONTRACT,
      },
      {
        ...{
          kind: "transactions",
          title: "MySQL",
          make: "mysqlTransactions({ pool })",
          ...ON_MARIADB,
        },
        page: `docs/stores/mysql.md${OWN_ROWS}`,
        contract: SQL_CONTRACT,
      },
    ],
  },
  {
    name: "sql",
    file: "src/stores/sql/index.ts",
    what: "transactions that an ORM opens, in PostgreSQL, MySQL and SQLite",
    plugs: [
      {
        kind: "transactions",
        title: "any of them through an ORM",
        make: "sqlTransactions({ dialect, transaction, query })",
        page: "docs/stores/orm.md",
        contract: "test/stores/sql/orms.slow.test.ts",
        noFaults: "an ORM has the connection, and the stores on a pool have the same statements",
      },
    ],
  },
  {
    name: "dynamodb",
    file: "src/stores/dynamodb/index.ts",
    what: "a store in DynamoDB",
    engine: "dynamodb",
    peers: [{ names: ["@aws-sdk/client-dynamodb"], oldest: "3.0.0" }],
    plugs: [
      {
        kind: "lease",
        title: "DynamoDB",
        make: "dynamoStore({ client })",
        have: "AWS Lambda",
        testedOn: "DynamoDB (dynalite)",
        clock: "process",
        // dynalite is slow, and a receiver loads the SDK.
        slow: { ids: 300, faultsMs: 40_000 },
        page: "docs/stores/dynamodb.md",
      },
    ],
  },
  {
    name: "cloudflare",
    file: "src/inbox/cloudflare/index.ts",
    what: "a store in D1, and an inbox on Cloudflare Queues",
    engine: "workerd",
    plugs: [
      {
        kind: "lease",
        title: "D1",
        make: "d1Store({ database })",
        noFaults: EMULATED,
        have: "Cloudflare Workers",
        page: "docs/cloudflare.md#d1",
      },
      { kind: "inbox", title: "Cloudflare Queues", page: "docs/cloudflare.md", noFaults: EMULATED },
    ],
  },
  {
    name: "inbox",
    file: "src/inbox/index.ts",
    what: "acknowledge into a queue, handle later; for queue drivers of your own",
  },
  {
    name: "pg-boss",
    file: "src/inbox/pg-boss/index.ts",
    what: "an inbox on pg-boss",
    engine: "postgres",
    peers: [{ names: ["pg-boss"], oldest: "12.35.0" }],
    plugs: [{ kind: "inbox", title: "pg-boss", page: "docs/inbox.md" }],
  },
  {
    name: "bullmq",
    file: "src/inbox/bullmq/index.ts",
    what: "an inbox on BullMQ",
    engine: "redis",
    peers: [{ names: ["bullmq"], oldest: "5.66.0", beside: { ioredis: ["5.0.0", "latest"] } }],
    plugs: [{ kind: "inbox", title: "BullMQ", page: "docs/inbox.md", clock: "process" }],
  },
  {
    name: "nats",
    file: "src/inbox/nats/index.ts",
    what: "an inbox on NATS JetStream",
    engine: "nats",
    peers: [{ names: ["@nats-io/jetstream", "@nats-io/transport-node"], oldest: "3.0.0" }],
    plugs: [{ kind: "inbox", title: "NATS", page: "docs/inbox.md#nats-jetstream" }],
  },
  {
    name: "rabbitmq",
    file: "src/inbox/rabbitmq/index.ts",
    what: "an inbox on RabbitMQ",
    engine: "rabbitmq",
    peers: [{ names: ["amqplib"], oldest: "0.10.0" }],
    plugs: [{ kind: "inbox", title: "RabbitMQ", page: "docs/inbox.md#rabbitmq" }],
  },
  {
    name: "sqs",
    file: "src/inbox/sqs/index.ts",
    what: "an inbox on Amazon SQS",
    engine: "sqs",
    peers: [{ names: ["@aws-sdk/client-sqs"], oldest: "3.451.0" }],
    plugs: [{ kind: "inbox", title: "SQS", page: "docs/inbox.md#amazon-sqs", noFaults: EMULATED }],
  },
  {
    name: "opentelemetry",
    file: "src/telemetry/opentelemetry/index.ts",
    what: "metrics and traces",
    peers: [{ names: ["@opentelemetry/api"], oldest: "1.9.0" }],
  },
  {
    name: "management",
    file: "src/management/index.ts",
    what: "registers, checks, rotates and reconciles webhooks at the gateway",
  },
  {
    name: "testing",
    file: "kit/index.ts",
    what: "samples, signed deliveries, the twin of the gateway, conformance, `startListener`",
  },
];
