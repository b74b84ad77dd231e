import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { isFirstInRun } from "./once-in-run.js";

/** Below the range of automatic ports, so that no outgoing connection takes the port before its server. */
const [FIRST_PORT, LAST_PORT] = [10_000, 29_999];

/**
 * A free port of 127.0.0.1, for a server that is started on it several times. No port is given twice in a run: between
 * this call and the server's start another test would get it too.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (isFirstInRun(`port-${port}`) && (await isFree(port))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
  } catch {
    return false;
  }
  probe.close();
  await once(probe, "close");
  return true;
}

/** Whether something on this machine accepts connections on a port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
