import { createServer, type Server } from "node:net";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";

/** A message of PostgreSQL's protocol: a letter, the length of what follows, and the rest. */
function message(letter: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(letter), length, body]);
}

const READY = message("Z", Buffer.from("I"));
const LOGGED_IN = message("R", Buffer.alloc(4));
const ENDED = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));

let server: Server | undefined;
let pool: pg.Pool | undefined;
const uncaught: unknown[] = [];
const note = (error: unknown): void => {
  uncaught.push(error);
};

afterEach(async () => {
  process.off("uncaughtException", note);
  uncaught.length = 0;
  await pool?.end();
  server?.close();
});

/** A pool of a server that ends each connection in the same chunk in which it becomes ready. */
async function poolOfEndingServer(): Promise<pg.Pool> {
  const made = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([LOGGED_IN, READY, ENDED])));
  });
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  server = made;
  const { port } = made.address() as { port: number };
  pool = new pg.Pool({ host: "127.0.0.1", port, user: "test", database: "test", ssl: false });
  pool.on("error", () => undefined);
  process.on("uncaughtException", note);
  return pool;
}

const times = { leaseMs: 30_000, retentionMs: 259_200_000 };

test.each<[string, (pool: pg.Pool) => Promise<unknown>]>([
  [
    "postgresTransactions",
    async (ending) =>
      postgresTransactions({ pool: ending }).process("key", () => Promise.resolve(), times),
  ],
  ["postgresStore", async (ending) => postgresStore({ pool: ending }).claim("key", "owner", times)],
  ["migrate", (ending) => postgresStore({ pool: ending }).migrate()],
])("%s rejects if a connection ends in the moment in which it is ready", async (_, call) => {
  const ending = await poolOfEndingServer();
  await expect(call(ending)).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  expect(uncaught).toEqual([]);
  expect(ending.totalCount).toBe(0);
});
