import type { RequestListener } from "node:http";
import https from "node:https";
import type net from "node:net";
import { onTestFinished } from "vitest";
import { listen, testCertificate } from "./servers.js";

/** Starts a server, which closes with its connections at the end of the test. Resolves to its URL. */
export async function serving(server: net.Server): Promise<string> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  const { port, close } = await listen(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await close();
  });
  return `http://127.0.0.1:${String(port)}/`;
}

/** The same with a certificate that no one trusts. */
export async function servingTls(answer: RequestListener): Promise<string> {
  const url = await serving(https.createServer(testCertificate, answer));
  return url.replace("http", "https");
}
