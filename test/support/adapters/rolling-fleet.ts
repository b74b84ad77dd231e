import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { SignedDelivery } from "../../../kit/index.js";

const SCRIPT = fileURLToPath(new URL("rolling-process.ts", import.meta.url));

/** A receiver's process, with a proxy's kept connections to it. */
export type Member = Awaited<ReturnType<typeof startMember>>;

/** Bundles the script of the processes into a folder, so that each starts at once. */
export async function bundleMember(folder: string): Promise<string> {
  const outfile = join(folder, "rolling-process.mjs");
  await build({ entryPoints: [SCRIPT], bundle: true, platform: "node", format: "esm", outfile });
  return outfile;
}

/** Starts a process, and waits until it listens. */
export async function startMember(bundle: string) {
  const child = spawn(process.execPath, [bundle], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  return {
    /** Resolves to the status. Rejects if the connection breaks. */
    send: (delivery: SignedDelivery) => send(agent, port, delivery),
    /** SIGTERM; resolves to the exit code, when the process has ended by itself. */
    async stop() {
      child.kill("SIGTERM");
      const [code] = await exited;
      return code;
    },
    kill() {
      agent.destroy();
      child.kill("SIGKILL");
    },
  };
}

function send(
  agent: http.Agent,
  port: number,
  { method, headers, body }: SignedDelivery,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const req = http.request(
      { agent, host: "127.0.0.1", port, method, headers: { ...headers, ...length } },
      (res) => {
        res.on("error", reject).on("end", () => resolve(res.statusCode ?? 0));
        res.resume();
      },
    );
    req.on("error", reject).end(body);
  });
}

/** A proxy: takes the members in turn, and drops one that has refused or closed a connection. */
export function createProxy(members: Member[]) {
  let turn = 0;
  return {
    members,
    /** Resolves to whether the delivery was acknowledged. */
    async deliver(delivery: SignedDelivery): Promise<boolean> {
      turn += 1;
      const member = members[turn % members.length];
      if (member === undefined) return false;
      try {
        const status = await member.send(delivery);
        if (status === 503) remove(members, member);
        return status === 200;
      } catch {
        remove(members, member);
        return false;
      }
    },
  };
}

function remove(members: Member[], member: Member): void {
  const at = members.indexOf(member);
  // The last one is kept: a proxy without any answers nothing at all.
  if (at !== -1 && members.length > 1) members.splice(at, 1);
}
