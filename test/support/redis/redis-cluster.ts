import { Redis } from "ioredis";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../free-port.js";
import { startRedisServer } from "./redis-server.js";

/** Three masters without replicas, which share the slots. */
export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

const SLOTS = 16_384;

/** Starts the nodes and waits until each of them reports a complete cluster. */
export async function startRedisCluster() {
  const nodes = await Promise.all([startNode(), startNode(), startNode()]);
  const admins = nodes.map(({ server }) => new Redis(server.port));
  try {
    // Before the nodes meet: a node that knows another one refuses it.
    for (const [index, admin] of admins.entries()) {
      const [from, to] = [index, index + 1].map((at) => Math.floor((SLOTS * at) / nodes.length));
      await admin.cluster("SET-CONFIG-EPOCH", index + 1);
      await admin.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(Number(to) - 1));
    }
    for (const admin of admins) {
      for (const { server, busPort } of nodes) {
        await admin.call("CLUSTER", "MEET", "127.0.0.1", String(server.port), String(busPort));
      }
    }
    for (const admin of admins) {
      while (!(await knowsAll(admin, nodes.length))) await wait(50);
    }
  } finally {
    for (const admin of admins) admin.disconnect();
  }
  return {
    nodes: nodes.map(({ server }) => server),
    close: async () => {
      await Promise.all(nodes.map(({ server }) => server.close()));
    },
  };
}

async function startNode() {
  const busPort = await freePort();
  const server = await startRedisServer({
    "cluster-enabled": "yes",
    "cluster-config-file": "nodes.conf",
    "cluster-port": String(busPort),
    "cluster-node-timeout": "2000",
    // The remaining nodes go on without the others.
    "cluster-require-full-coverage": "no",
  });
  return { server, busPort };
}

async function knowsAll(admin: Redis, count: number): Promise<boolean> {
  const info = await admin.cluster("INFO");
  return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`);
}
