import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { linesOf, type WireRequest } from "../../../kit/sending/wire.js";
import { TEST_SECRET, alarm, delivery, eventDelivery } from "../deliveries.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** One of the `examples/` as a listening process. */
export type ExampleProcess = Awaited<ReturnType<typeof startExample>>;

/** Starts an example on a free port with the tests' secret. Rejects with its errors if it ends. */
export async function startExample(
  file: string,
  variables: Readonly<Record<string, string | undefined>> = {},
) {
  const child = spawn(process.execPath, ["--import", "tsx", `examples/${file}`], {
    cwd: ROOT,
    env: { ...process.env, PORT: "0", GATEWAY_WEBHOOK_SECRET: TEST_SECRET, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  const complaints = text(child.stderr);
  const printed: string[] = [];
  const lines = createInterface({ input: child.stdout });
  // From the start: a busy machine delivers the first line and those after it in one chunk.
  lines.on("line", (line) => printed.push(line));
  await Promise.race([once(lines, "line"), once(lines, "close")]);
  const line = printed.shift();
  if (line === undefined) {
    const [code] = (await closed) as [number | null];
    throw new Error(`exit code ${String(code)}: ${await complaints}`);
  }
  return {
    url: line.replace("listening on ", ""),
    /** Its output after the line that says that it listens. */
    printed,
    /** Asks it to end. Resolves with exit code and signal when its whole output is read. */
    terminate() {
      child.kill("SIGTERM");
      return closed;
    },
    /** Ends it like a crash. */
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** What `post` resolves to for a delivery that was handled, and for one that was handled before. */
export const HANDLED = { status: 200, outcome: "handled" };
export const DUPLICATE = { status: 200, outcome: "duplicate" };

/** A delivery of the current time, because the examples use the real clock. */
export interface FreshDelivery {
  readonly id: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An alarm of a new id. */
export async function freshAlarm(overrides: Record<string, unknown> = {}): Promise<FreshDelivery> {
  const id = randomUUID();
  const body = JSON.stringify({ alarm: alarm(overrides) });
  return { id, ...(await delivery({ id, timestamp: nowSeconds(), body })), body };
}

/** An Online Data event of a new id. */
export async function freshEvent(type: string): Promise<FreshDelivery> {
  const id = randomUUID();
  const signed = await eventDelivery(type, { id, timestamp: nowSeconds() });
  return { id, ...signed, body: String(signed.body) };
}

/** A delivery as a request on the wire. */
export function requestOf({ method, headers, body }: FreshDelivery): WireRequest {
  return { method, headers: linesOf(headers), body: Buffer.from(body) };
}

/** Posts a delivery and resolves to the answer. */
export async function post(url: string, request: FreshDelivery): Promise<unknown> {
  const response = await fetch(url, request);
  return { status: response.status, ...((await response.json()) as object) };
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
