import { createClient } from "redis";

/** A client that reconnects at once. */
export type Redis = ReturnType<typeof openRedis>;

/** Opens a client. Without a listener an error of its connection would end the process. */
export function openRedis(port: number) {
  const client = createClient({
    socket: { host: "127.0.0.1", port, reconnectStrategy: 50, connectTimeout: 1_000 },
  });
  client.on("error", () => undefined);
  client.connect().catch(() => undefined);
  return client;
}
