import { createHash } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/**
 * Holds the rotation of a URL for this process, on this machine. Resolves to a function that lets it go; undefined if
 * another process holds it. A socket, since that ends with its process, also when it is killed.
 */
export async function lockRotation(url: string): Promise<(() => void) | undefined> {
  const name = `gateway-rotation-${createHash("sha256").update(url).digest("hex").slice(0, 16)}`;
  const outlives = !["linux", "win32"].includes(process.platform);
  const address = { linux: `\0${name}`, win32: `\\\\.\\pipe\\${name}` }[process.platform as string];
  const at = address ?? path.join(tmpdir(), name);
  for (let tries = 1; ; tries++) {
    const server = createServer((socket) => socket.destroy()).listen(at);
    try {
      await once(server, "listening");
      return () => void server.close();
    } catch {
      // Elsewhere the file of the socket is left behind when its process is killed.
      if (!outlives || tries > 1 || (await isAnswered(at))) return undefined;
      await rm(at, { force: true });
    }
  }
}

async function isAnswered(at: string): Promise<boolean> {
  const socket = createConnection(at);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
