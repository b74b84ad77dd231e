import { createRequire } from "node:module";
import { installPlatform } from "../platform-packages.js";
import { startServer } from "../server-process.js";

/** A dynalite in its own process, with its data in a folder of its own. */
export type DynaliteServer = Awaited<ReturnType<typeof startDynalite>>;

/** On a busy machine the SDK writes to a connection just when dynalite closes it, idle for the 5 s that Node allows. */
const NO_IDLE_LIMIT =
  'data:text/javascript,import http from "node:http"; const { createServer } = http;' +
  "http.createServer = (...given) => Object.assign(createServer(...given), { keepAliveTimeout: 0 });";

/** Starts dynalite. `inMemory`: faster, and without data after a restart. */
export async function startDynalite({ inMemory = false } = {}) {
  const root = await installPlatform("dynamodb");
  const program = createRequire(new URL("package.json", root)).resolve("dynalite/cli.js");
  const urlAt = (port: number) => `http://127.0.0.1:${port}`;
  const { end, ...server } = await startServer({
    name: "dynalite",
    command: process.execPath,
    args: (port, folder) => [
      "--import",
      NO_IDLE_LIMIT,
      program,
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--createTableMs",
      "1",
      ...(inMemory ? [] : ["--path", folder]),
    ],
    // The health check of DynamoDB.
    answers: async (port) => (await fetch(urlAt(port))).ok,
  });
  return { ...server, url: urlAt(server.port), kill: () => end("SIGKILL") };
}
