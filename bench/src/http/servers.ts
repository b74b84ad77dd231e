/** Where every server takes its deliveries. */
export const PATH = "/webhooks/gateway";

/** Takes each record that a server has verified. */
export type Handle = (record: unknown) => Promise<void>;

/** What the servers of all frameworks have in common. */
export interface HttpServer {
  listen(port: number, host: string, listening: () => void): unknown;
  address(): { readonly port: number } | string | null;
  on(event: "request", listener: () => void): unknown;
}

interface ServerChoice {
  /** Whose deliveries it takes. */
  readonly sender: "gateway" | "github";
  /** Loads only what this server needs, and makes it. */
  readonly create: (handle: Handle) => Promise<HttpServer>;
}

/** Every server that is measured, by the name that the tables give it. */
export const SERVERS = {
  floor: {
    sender: "gateway",
    create: async (handle) => (await import("./servers/node.js")).floorServer(handle),
  },
  "ours on Node": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/node.js")).oursOnNode(handle),
  },
  "ours on Express": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/express.js")).oursOnExpress(handle),
  },
  "ours on Hono": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/hono.js")).oursOnHono(handle),
  },
  "hand-written on Node": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/node.js")).byHandOnNode(handle),
  },
  "hand-written on Express": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/express.js")).byHandOnExpress(handle),
  },
  "hand-written on Hono": {
    sender: "gateway",
    create: async (handle) => (await import("./servers/hono.js")).byHandOnHono(handle),
  },
  "octokit on Node": {
    sender: "github",
    create: async (handle) => (await import("./servers/octokit.js")).octokitServer(handle),
  },
} satisfies Record<string, ServerChoice>;

/** The name of a server. */
export type ServerName = keyof typeof SERVERS;
