/** What a peer needs to run. */
export type Engine =
  "postgres" | "redis" | "redis-http" | "mysql" | "dynamodb" | "nats" | "rabbitmq" | "sqs";

/** One optional peer, or several of one version. */
export interface Peer {
  /** Names on npm, of `peerDependencies`. They are installed in one version. */
  readonly names: readonly [string, ...string[]];
  /** The entry of this package that uses it. */
  readonly entry: string;
  /** The receiver in receivers.mjs. */
  readonly receiver: string;
  /** The lower bound of its range. */
  readonly oldest: string;
  /** The newest major that works, if the entry refuses later ones. Default: the newest there is. */
  readonly newestMajor?: number;
  /** Majors after the oldest one whose newest release is tried too, besides the newest of all. */
  readonly majors?: readonly number[];
  /** Other packages that a project has beside it, by their version for an old and for the newest release. */
  readonly beside?: Readonly<Record<string, readonly [old: string, newest: string]>>;
  readonly engine?: Engine;
  /** It is compiled after the installation. */
  readonly isCompiled?: boolean;
}

/** All optional peers, in the order of the table. */
export const PEERS: readonly Peer[] = [
  { names: ["express"], entry: "express", receiver: "express", oldest: "4.18.0" },
  { names: ["fastify"], entry: "fastify", receiver: "fastify", oldest: "4.0.0" },
  { names: ["koa"], entry: "koa", receiver: "koa", oldest: "2.0.0" },
  {
    names: ["hono"],
    ...{ entry: "hono", receiver: "hono", oldest: "4.0.0" },
    beside: { "@hono/node-server": ["1.13.8", "latest"] },
  },
  {
    names: ["@nestjs/core", "@nestjs/common"],
    ...{ entry: "nestjs", receiver: "nestjs", oldest: "10.0.0" },
    beside: {
      "@nestjs/platform-express": ["10.0.0", "latest"],
      "reflect-metadata": ["0.1.14", "latest"],
      rxjs: ["7.8.2", "latest"],
    },
  },
  {
    names: ["redis"],
    ...{ entry: "redis", receiver: "redis", oldest: "5.0.0", engine: "redis" },
  },
  {
    names: ["ioredis"],
    ...{ entry: "redis", receiver: "ioredis", oldest: "5.0.0", engine: "redis" },
  },
  {
    names: ["@upstash/redis"],
    ...{ entry: "redis", receiver: "upstash", oldest: "1.34.0", engine: "redis-http" },
  },
  { names: ["pg"], entry: "postgres", receiver: "pg", oldest: "8.0.3", engine: "postgres" },
  { names: ["mysql2"], entry: "mysql", receiver: "mysql2", oldest: "3.0.0", engine: "mysql" },
  {
    names: ["better-sqlite3"],
    ...{ entry: "sqlite", receiver: "better-sqlite3", oldest: "11.0.0" },
    ...{ majors: [12], isCompiled: true },
  },
  { names: ["libsql"], entry: "sqlite", receiver: "libsql", oldest: "0.5.1" },
  {
    names: ["@aws-sdk/client-dynamodb"],
    ...{ entry: "dynamodb", receiver: "dynamodb", oldest: "3.0.0", engine: "dynamodb" },
  },
  {
    names: ["@aws-sdk/client-sqs"],
    ...{ entry: "sqs", receiver: "sqs", oldest: "3.451.0", engine: "sqs" },
  },
  {
    names: ["pg-boss"],
    ...{ entry: "pg-boss", receiver: "pg-boss", oldest: "10.0.6", engine: "postgres" },
    ...{ newestMajor: 10, majors: [10, 11] },
  },
  {
    names: ["bullmq"],
    ...{ entry: "bullmq", receiver: "bullmq", oldest: "5.66.0", engine: "redis" },
    beside: { ioredis: ["5.0.0", "latest"] },
  },
  {
    names: ["@nats-io/jetstream", "@nats-io/transport-node"],
    ...{ entry: "nats", receiver: "nats", oldest: "3.0.0", engine: "nats" },
  },
  {
    names: ["amqplib"],
    ...{ entry: "rabbitmq", receiver: "rabbitmq", oldest: "0.10.0", engine: "rabbitmq" },
  },
  {
    names: ["@opentelemetry/api"],
    ...{ entry: "opentelemetry", receiver: "opentelemetry", oldest: "1.9.0" },
  },
];
