import { documentFile } from "./documents.js";

/** A file of this package, or the one snippet of a page that holds the text. */
export type Source = readonly [file: string, snippet?: string];

/** How an app that is there takes the receiver. */
export interface Mount {
  /** Finds what makes the app. Its first group is the app's name. */
  readonly app: RegExp;
  readonly adapter: string;
  /** What the module imports beside the adapter. */
  readonly type?: string;
  /** The module's function `gateway`, if it does not just return the adapter's handler. */
  readonly code?: string;
  /** The line for the app. */
  readonly line: (app: string) => string;
}

/** What `init` writes for a framework, and the commands that it ends with. */
export interface Framework {
  /** The package in a package.json that gives it away. */
  readonly knownBy?: string;
  /** The page that has its files, too. */
  readonly page: string;
  /** Of a new server: the packages and tools that it needs. */
  readonly packages: readonly string[];
  readonly tools: readonly string[];
  /** The example of a new server, whose store can be chosen. */
  readonly server?: string;
  readonly mount?: Mount;
  /** Its route is a file, three folders below one of these, which must be there. */
  readonly route?: {
    readonly below: readonly string[];
    readonly file: string;
    readonly code: string;
  };
  /** Of a host with a project of its own, which `init` writes whole. */
  readonly host?: {
    readonly files: Readonly<Record<string, Source>>;
    /** Run before the start and before the test. */
    readonly build: string;
    readonly start: string;
  };
  /** Where its development server reads the secret. */
  readonly secretFile: string;
  readonly url: string;
}

const LAMBDA = documentFile("aws-lambda");
const WORKERS = documentFile("cloudflare");
export const PATH = "/webhooks/gateway";

/** The frameworks of `init`. One that brings others along stands before them. */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  nestjs: {
    ...framework("@nestjs/core", documentFile("nestjs")),
    mount: {
      app: /@Module\(/,
      adapter: "",
      line: () =>
        "imports: [GatewayModule]  // and app.enableShutdownHooks() in main.ts, so running handlers end",
    },
  },
  next: {
    ...framework("next"),
    mount: { app: /(?!)/, adapter: "fetchHandler", line: String },
    route: {
      below: ["src/app", "app"],
      file: "route",
      code: "export const POST = gateway();\nexport const GET = POST;\n",
    },
  },
  sveltekit: {
    ...framework("@sveltejs/kit", undefined, "http://localhost:5173"),
    mount: { app: /(?!)/, adapter: "fetchHandler", line: String },
    route: {
      below: ["src/routes"],
      file: "+server",
      code: "const handle = gateway();\nexport const POST = ({ request }: { request: Request }) => handle(request);\nexport const GET = POST;\n",
    },
  },
  express: server("express", ["express"], ["@types/express"], {
    app: made("express\\(\\)"),
    adapter: "expressHandler",
    line: (app) => `${app}.all("${PATH}", gateway());`,
  }),
  fastify: server("fastify", ["fastify"], [], {
    app: made("[Ff]astify(?:<[^>]*>)?\\("),
    adapter: "fastifyPlugin",
    type: 'import type { FastifyInstance } from "fastify";\n',
    code: `export async function gateway(app: FastifyInstance) {
  await app.register(fastifyPlugin, { receiver: gatewayReceiver(), path: "${PATH}" });
}`,
    line: (app) => `${app}.register(gateway);`,
  }),
  hono: server("hono", ["hono", "@hono/node-server"], [], {
    app: made("new (?:OpenAPI)?Hono\\b"),
    adapter: "honoHandler",
    line: (app) => `${app}.all("${PATH}", gateway());`,
  }),
  koa: server("koa", ["koa"], ["@types/koa"], {
    app: made("new Koa\\b"),
    adapter: "koaHandler",
    type: 'import type { Middleware } from "koa";\n',
    code: `export function gateway(receiver = gatewayReceiver()): Middleware {
  const handle = koaHandler(receiver);
  return (ctx, next) => (ctx.path === "${PATH}" ? handle(ctx) : next());
}`,
    line: (app) => `${app}.use(gateway());`,
  }),
  node: server("node", [], [], {
    app: made("(?:https?\\.)?createServer\\("),
    adapter: "nodeHandler",
    line: () =>
      `const handleGateway = gateway();\n  if (req.url === "${PATH}") return handleGateway(req, res);  // first in the listener`,
  }),
  "aws-lambda": {
    ...framework("@types/aws-lambda", LAMBDA),
    host: {
      files: {
        "index.ts": [LAMBDA, "// index.ts"],
        "local.mjs": [LAMBDA, "// local.mjs"],
        "index.test.mjs": ["examples/aws-lambda-test.mjs"],
        "template.yaml": [LAMBDA, "AWS::Serverless-2016-10-31"],
      },
      build:
        "npx esbuild index.ts --bundle --platform=node --target=node22 --outfile=dist/index.cjs && ",
      start: "node --env-file=.env local.mjs",
    },
    packages: ["@aws-sdk/client-dynamodb"],
    tools: ["esbuild", "dynalite"],
    url: "http://127.0.0.1:3000/",
  },
  cloudflare: {
    ...framework("wrangler", WORKERS),
    host: {
      files: {
        "src/index.js": [WORKERS, "store.purge"],
        "index.test.mjs": ["examples/cloudflare-test.mjs"],
        "wrangler.jsonc": [WORKERS, '"d1_databases"'],
        "migrations/0001_gateway_deliveries.sql": ["sql/d1.sql"],
      },
      build: "",
      start: "npx wrangler d1 migrations apply gateway-webhooks --local && npx wrangler dev",
    },
    tools: ["wrangler", "miniflare", "esbuild"],
    secretFile: ".dev.vars",
    url: "http://127.0.0.1:8787/",
  },
};

function framework(
  knownBy: string,
  page = documentFile("frameworks"),
  host = "http://127.0.0.1:3000",
) {
  return { knownBy, page, packages: [], tools: [], secretFile: ".env", url: `${host}${PATH}` };
}

/** A server that runs in Node, from its example. */
function server(name: string, packages: readonly string[], types: readonly string[], mount: Mount) {
  const tools = ["tsx", "@types/node", ...types];
  return { ...framework(name), packages, tools, server: `examples/${name}.ts`, mount };
}

/** `const app = …`, also with a type, or the call alone. */
function made(call: string): RegExp {
  return new RegExp(`(?:(\\w+)(?::[^=\\n]+)? = )?(?<![\\w.])${call}`);
}
