import type { Entry } from "./entry.js";

const ALL = 'app.all("/webhooks/gateway", ';

/** The rows of `entries.ts` that mount a receiver. */
export const FRAMEWORKS: readonly Entry[] = [
  {
    name: "express",
    file: "adapters/express.ts",
    what: "mounts a receiver in Express",
    handler: "expressHandler",
    mounts: [["[Express](docs/frameworks.md#express) 4.18, 5", `${ALL}expressHandler(receiver))`]],
    peers: [{ names: ["express"], oldest: "4.18.0" }],
  },
  {
    name: "hono",
    file: "adapters/hono.ts",
    what: "mounts a receiver in Hono",
    handler: "honoHandler",
    mounts: [["[Hono](docs/frameworks.md#hono) 4", `${ALL}honoHandler(receiver))`]],
    peers: [
      { names: ["hono"], oldest: "4.0.0", beside: { "@hono/node-server": ["1.13.8", "latest"] } },
    ],
  },
  {
    name: "node",
    file: "adapters/node.ts",
    what: "mounts it in `http`, `https` and `http2`, and what builds on them",
    handler: "nodeHandler",
    mounts: [
      [
        "[Node](docs/frameworks.md#node) `http`, `https`, `http2`",
        "http.createServer(nodeHandler(receiver))",
      ],
    ],
  },
  {
    name: "fetch",
    file: "adapters/fetch.ts",
    what: "mounts it where requests are of the Fetch API: Next, Workers, Bun, Deno, SvelteKit",
    handler: "fetchHandler",
    mounts: [
      [
        "[Next](docs/frameworks.md#next) and other [Fetch API](docs/frameworks.md) frameworks",
        "export const POST = fetchHandler(receiver), GET = POST",
      ],
      [
        "[Cloudflare Workers](docs/cloudflare.md)",
        "export default { fetch: fetchHandler(receiver) }",
      ],
    ],
  },
  {
    name: "fastify",
    file: "adapters/fastify.ts",
    what: "a plugin for Fastify",
    handler: "fastifyPlugin",
    mounts: [
      [
        "[Fastify](docs/frameworks.md#fastify) 4, 5",
        'app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" })',
      ],
    ],
    peers: [{ names: ["fastify"], oldest: "4.0.0" }],
  },
  {
    name: "koa",
    file: "adapters/koa.ts",
    what: "mounts a receiver in Koa",
    handler: "koaHandler",
    mounts: [
      [
        "[Koa](docs/frameworks.md#koa) 2, 3",
        'router.all("/webhooks/gateway", koaHandler(receiver))',
      ],
    ],
    peers: [{ names: ["koa"], oldest: "2.0.0" }],
  },
  {
    name: "nestjs",
    file: "adapters/nestjs/index.ts",
    what: "a module for Nest, with decorators for handlers",
    handler: "WebhookReceiverModule",
    mounts: [
      [
        "[Nest](docs/nestjs.md) 10, 11, 12",
        'WebhookReceiverModule.forRoot({ path: "/webhooks/gateway", secret })',
      ],
    ],
    peers: [
      {
        names: ["@nestjs/core", "@nestjs/common"],
        oldest: "10.0.0",
        beside: {
          "@nestjs/platform-express": ["10.0.0", "latest"],
          "reflect-metadata": ["0.1.14", "latest"],
          rxjs: ["7.8.2", "latest"],
        },
      },
    ],
  },
  {
    name: "aws-lambda",
    file: "adapters/aws-lambda/index.ts",
    what: "the handler of an AWS Lambda function",
    handler: "lambdaHandler",
    mounts: [
      ["[AWS Lambda](docs/aws-lambda.md)", "export const handler = lambdaHandler(receiver)"],
    ],
  },
  { name: "adapter", file: "adapters/http/index.ts", what: "for adapters of your own" },
];
