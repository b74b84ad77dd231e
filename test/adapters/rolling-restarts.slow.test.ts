import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { sampleAlarm, signedDelivery, type SignedDelivery } from "../../kit/index.js";
import { TEST_SECRET } from "../support/deliveries.js";

const RESTARTS = 14;
const SENDERS = 8;
/** The gateway waits 10 seconds. */
const RETRY_MS = 50;

const SCRIPT = fileURLToPath(new URL("../support/adapters/rolling-process.ts", import.meta.url));

/** A receiver's process, with a proxy's kept connections to it. */
type Member = Awaited<ReturnType<typeof startMember>>;

/** Bundles the script of the processes into a folder, so that each starts at once. */
async function bundleMember(folder: string): Promise<string> {
  const outfile = join(folder, "rolling-process.mjs");
  await build({ entryPoints: [SCRIPT], bundle: true, platform: "node", format: "esm", outfile });
  return outfile;
}

/** Starts a process, and waits until it listens. */
async function startMember(bundle: string) {
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
function createProxy(members: Member[]) {
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

it("fourteen rolling restarts behind kept connections cost no delivery more than two attempts", async () => {
  const started: Member[] = [];
  onTestFinished(() => {
    for (const member of started) member.kill();
  });
  const folder = mkdtempSync(join(tmpdir(), "rolling-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const bundle = await bundleMember(folder);
  const start = async (): Promise<Member> => {
    const member = await startMember(bundle);
    started.push(member);
    return member;
  };
  const proxy = createProxy([await start(), await start()]);
  const attempts: number[] = [];
  let isOver = false;

  const sendOn = async (): Promise<void> => {
    while (!isOver) {
      const delivery = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
      let count = 1;
      while (!(await proxy.deliver(delivery))) {
        count += 1;
        await sleep(RETRY_MS);
      }
      attempts.push(count);
    }
  };
  const senders = Array.from({ length: SENDERS }, sendOn);

  const exits: (number | null)[] = [];
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const next = await start();
    const leaving = started[restart];
    proxy.members.push(next);
    exits.push((await leaving?.stop()) ?? null);
  }
  isOver = true;
  await Promise.all(senders);

  expect(exits).toEqual(Array.from({ length: RESTARTS }, () => 0));
  expect(attempts.length).toBeGreaterThan(RESTARTS * SENDERS);
  expect(attempts.filter((count) => count > 2)).toEqual([]);
});
