import { Cluster, Redis } from "ioredis";
import { once } from "node:events";
import { createClient, createCluster } from "redis";
import { createCluster as createCluster5 } from "redis-5";
import type { RedisClient } from "../../../src/stores/redis/index.js";
import type {
  HttpRedisClient,
  IoredisClient,
  NodeRedisClient,
} from "../../../src/stores/redis/redis-connection.js";
import { installPlatform, loadFrom } from "../platform-packages.js";
import type { RedisHttpFront } from "./http-front.js";
import type { RedisCluster } from "./redis-cluster.js";
import type { RedisServer } from "./redis-server.js";

/** A client with a connection of its own. */
export type ConnectedClient = NodeRedisClient | IoredisClient;

/** A connected client and the function that closes it. */
export interface OpenClient<Client extends RedisClient = ConnectedClient> {
  readonly client: Client;
  readonly close: () => Promise<void> | void;
}

/** A library and topology that the store supports. */
export interface ClientKind {
  readonly name: string;
  readonly cluster: boolean;
  readonly open: (ports: readonly number[]) => Promise<OpenClient>;
}

/** Each key of a prefix moves into the past. */
const MOVE = `for _, key in ipairs(redis.call("KEYS", ARGV[1] .. "*")) do
  local left = redis.call("PTTL", key) - ARGV[2]
  local leaseEnd, rest = string.match(redis.call("GET", key), "^(%d+)(!? .*)$")
  local value = leaseEnd and string.format("%d%s", leaseEnd - ARGV[2], rest) or "1"
  if left > 0 then redis.call("SET", key, value, "PX", left) else redis.call("DEL", key) end
end`;

/** Moves the keys of a store into the past, in place of the clock of the server into the future. */
export async function moveIntoPast(client: Redis, keyPrefix: string, ms: number): Promise<void> {
  await client.eval(MOVE, 0, keyPrefix, ms);
}

interface Connecting {
  on(event: "error", listener: () => void): unknown;
  connect(): Promise<unknown>;
}

const ignore = (): void => undefined;

async function connected<Client extends ConnectedClient & Connecting>(
  client: Client,
  close: (client: Client) => void | Promise<void>,
): Promise<OpenClient<Client>> {
  client.on("error", ignore);
  await client.connect();
  return { client, close: () => close(client) };
}

const destroyed = (client: { destroy(): void }): void => client.destroy();

async function disconnected(client: Redis | Cluster): Promise<void> {
  if (client.status === "end") return;
  const ended = once(client, "end");
  client.disconnect();
  await ended;
}

/** Connects a client of node-redis with its defaults. */
export function openNodeRedis(port: number): Promise<OpenClient<NodeRedisClient>> {
  return connected(createClient({ url: `redis://127.0.0.1:${port}` }), destroyed);
}

/** Connects a client of ioredis with its defaults. */
export function openIoredis(port: number): Promise<OpenClient<IoredisClient>> {
  return connected(new Redis(port, "127.0.0.1", { lazyConnect: true }), disconnected);
}

/** A client made by `createCluster` of any supported release of node-redis. */
type NodeRedisCluster = NodeRedisClient & Connecting & { destroy(): void };

function openNodeRedisCluster(
  create: (options: { rootNodes: { url: string }[] }) => NodeRedisCluster,
  ports: readonly number[],
): Promise<OpenClient> {
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
  return connected(create({ rootNodes }), destroyed);
}

function openIoredisCluster(ports: readonly number[]): Promise<OpenClient> {
  const nodes = ports.map((port) => ({ host: "127.0.0.1", port }));
  return connected(new Cluster(nodes, { lazyConnect: true }), disconnected);
}

/** Both libraries on one server. */
export const STANDALONE_KINDS: readonly ClientKind[] = [
  { name: "node-redis", cluster: false, open: ([port = 0]) => openNodeRedis(port) },
  { name: "ioredis", cluster: false, open: ([port = 0]) => openIoredis(port) },
];

/** Both libraries on a Cluster. */
export const CLUSTER_KINDS: readonly ClientKind[] = [
  {
    name: "node-redis on a Cluster",
    cluster: true,
    open: (ports) => openNodeRedisCluster(createCluster, ports),
  },
  {
    name: "node-redis 5 on a Cluster",
    cluster: true,
    open: (ports) => openNodeRedisCluster(createCluster5, ports),
  },
  { name: "ioredis on a Cluster", cluster: true, open: openIoredisCluster },
];

/** The ports for `ClientKind.open`. */
export function portsOf(server: RedisServer | RedisCluster): readonly number[] {
  return "nodes" in server ? server.nodes.map(({ port }) => port) : [server.port];
}

/** A `Redis` of `@upstash/redis`. */
export interface UpstashClient extends HttpRedisClient {
  pipeline(): HttpRedisClient;
  multi(): HttpRedisClient;
  scriptFlush(): Promise<unknown>;
}

/** Makes a client of `@upstash/redis`, with its defaults. `more`: other options. */
export async function openUpstash(
  { url, token }: Pick<RedisHttpFront, "url" | "token">,
  more: Record<string, unknown> = {},
): Promise<UpstashClient> {
  const { Redis } = loadFrom(await installPlatform("upstash"), "@upstash/redis") as {
    Redis: new (options: Record<string, unknown>) => UpstashClient;
  };
  return new Redis({ url, token, ...more });
}
