/** Each entry of the package by its last part, in the order of use, and what it is for. */
const ENTRIES: Readonly<Record<string, string>> = {
  "identity-gateway-webhooks": "`createWebhookReceiver`, the records, the outcomes and the errors",
  express: "mounts a receiver in Express",
  nestjs: "a module for Nest, with decorators for handlers",
  fastify: "a plugin for Fastify",
  koa: "mounts a receiver in Koa",
  hono: "mounts a receiver in Hono",
  fetch: "mounts it where requests are of the Fetch API: Next, Workers, Bun, Deno, SvelteKit",
  node: "mounts it in `http`, `https` and `http2`, and what builds on them",
  "aws-lambda": "the handler of an AWS Lambda function",
  adapter: "for adapters of your own",
  testing: "samples, signed deliveries, the twin of the gateway, conformance, `startListener`",
  postgres: "a store and transactions in PostgreSQL",
  mysql: "a store and transactions in MySQL and MariaDB",
  sqlite: "a store and transactions in SQLite",
  redis: "a store in Redis",
  dynamodb: "a store in DynamoDB",
  cloudflare: "a store in D1, and an inbox on Cloudflare Queues",
  inbox: "acknowledge into a queue, handle later; for queue drivers of your own",
  "pg-boss": "an inbox on pg-boss",
  bullmq: "an inbox on BullMQ",
  nats: "an inbox on NATS JetStream",
  rabbitmq: "an inbox on RabbitMQ",
  sqs: "an inbox on Amazon SQS",
  management: "registers, checks, rotates and reconciles webhooks at the gateway",
  opentelemetry: "metrics and traces",
  schemas: "the records as Standard Schemas",
  shadow: "compares a receiver with hand-written code on real traffic",
};

/**
 * The first page of the API.
 *
 * @throws Error if an entry of the package is not in the list, or one of the list is gone.
 */
export function apiIndex(names: readonly string[]): string {
  const listed = Object.keys(ENTRIES);
  const wrong = [
    ...names.filter((name) => !listed.includes(name)),
    ...listed.filter((name) => !names.includes(name)),
  ];
  if (wrong.length > 0) throw new Error(`docs/site/api-index.ts: ${wrong.join(", ")}`);
  const rows = Object.entries(ENTRIES).map(([name, what]) => `| [${name}](${name}.md) | ${what} |`);
  return ["# API", "", "| import | what for |", "| --- | --- |", ...rows, ""].join("\n");
}
