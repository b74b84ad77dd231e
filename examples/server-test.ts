// A test of the server in gateway.ts, in a process of its own: `npx identity-gateway-webhooks init` writes both.
import { deepEqual, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import {
  TEST_SECRET,
  receiverConformance,
  runConformance,
} from "identity-gateway-webhooks/testing";

type Settle = (count: number) => void;

// Runs in the server first. The work of the handlers in gateway.ts is a line that begins with the delivery's id: this
// counts such lines, and can make them fail. Once your handlers do other work, count and fail that instead.
const probe = `
  const { log } = console;
  const runs = new Map();
  let isDown = false;
  console.log = (line) => {
    if (isDown) throw new Error("the work fails");
    const [id] = line.split(": ");
    runs.set(id, (runs.get(id) ?? 0) + 1);
    log(line);
  };
  process.on("message", ({ at, id, down = isDown }) => {
    isDown = down;
    process.send({ at, count: runs.get(id) ?? 0 });
  });`;

void test("each delivery is handled once, and a forged one never", { timeout: 180_000 }, proof);

async function proof() {
  const imports = ["tsx", `data:text/javascript,${encodeURIComponent(probe)}`];
  const argv = [...imports.flatMap((one) => ["--import", one]), "gateway.ts"];
  // No secret and no database of .env.
  const env = { PORT: "0", GATEWAY_WEBHOOK_SECRET: TEST_SECRET, GATEWAY_STORE: "memory" };
  const server = spawn(process.execPath, argv, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const { stdout, stderr } = server;
  ok(stdout && stderr);
  let errors = "";
  stderr.on("data", (text) => (errors = `${errors}${text}`.slice(-5_000)));
  const asked = new Map<number, Settle>();
  server.on("message", ({ at, count }: { at: number; count: number }) => asked.get(at)?.(count));
  let at = 0;
  const ask = (about: { id: string } | { down: boolean }) =>
    new Promise<number>((resolve) => {
      asked.set(++at, resolve);
      server.send({ at, ...about });
    });
  try {
    const target = await new Promise<string>((resolve, reject) => {
      const lines = createInterface({ input: stdout });
      lines.on("line", (line) => {
        resolve(line.replace("listening on ", ""));
      });
      lines.on("close", () => {
        reject(new Error(`the server has ended: ${errors}`));
      });
    });
    const cases = receiverConformance({
      target,
      secret: TEST_SECRET,
      handled: (id) => ask({ id }),
      whileFailing: async (work) => {
        await ask({ down: true });
        try {
          return await work();
        } finally {
          await ask({ down: false });
        }
      },
    });
    const { results } = await runConformance(cases, { concurrency: 4 });
    const open = results.filter(
      ({ result, level, need }) =>
        // A line of a log is never slow. For other work pass whileSlow, and leave this out.
        (result === "failed" && level === "must") ||
        (result === "not_judged" && need !== "whileSlow"),
    );
    const reasons = open.map(({ id, reason }) => `${id}: ${reason}`);
    deepEqual(reasons, []);
  } finally {
    // At once: its channel to this test would keep it alive.
    server.kill("SIGKILL");
  }
}
