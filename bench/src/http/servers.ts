import type { Handle, HttpServer } from "./measured-server.js";

interface ServerChoice {
  /** The sender whose deliveries it receives. */
  readonly sender: "gateway" | "github";
  /** Makes the server, and loads only the framework that it needs. */
  readonly create: (handle: Handle) => Promise<HttpServer>;
}

/** All measured servers, by their name in the tables. */
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
