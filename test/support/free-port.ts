import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems hand out, so that no outgoing connection takes it before its server does. */
const [FIRST_PORT, LAST_PORT] = [10_000, 29_999];

/** A port of 127.0.0.1 that nobody listens on, for a server that may be started on it several times. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) return port;
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
