import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { FRAMEWORKS } from "../../cli/init-files.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { alarmDelivery } from "../support/inbox/receiver-and-worker.js";
import {
  REPOSITORY,
  installPackage,
  type InstalledPackage,
} from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installPlatform } from "../support/platform-packages.js";

/** The Node of the image. */
const NODE_24 = path.join(REPOSITORY, "test/platforms/node/node_modules/node24/bin/node");
const page = readMarkdown("docs/deployment.md");
const [server = ""] = page.snippets("ts");
const [dockerfile = ""] = page.snippets("dockerfile");

interface Container {
  readonly ports: readonly { readonly containerPort: number }[];
  readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly port: number } };
  readonly lifecycle: {
    readonly preStop: { readonly exec: { readonly command: readonly string[] } };
  };
}

test("the manifest, the Dockerfile and the server of the page fit each other", () => {
  const [manifest = ""] = page.snippets("yaml");
  const { spec } = (
    parse(manifest) as {
      spec: {
        template: {
          spec: { terminationGracePeriodSeconds: number; containers: readonly [Container] };
        };
      };
    }
  ).spec.template;
  const [{ ports, readinessProbe, lifecycle }] = spec.containers;
  const { path, port } = readinessProbe.httpGet;
  expect(server).toContain(`req.url === "${path}"`);
  expect(server).toContain(`process.env["PORT"] ?? ${String(port)}`);
  expect(ports).toEqual([{ containerPort: port }]);
  expect(dockerfile).toContain(`EXPOSE ${String(port)}`);
  const preStopMs = 1_000 * Number(lifecycle.preStop.exec.command[1]);
  expect(spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(
    preStopMs + INTEGER_OPTIONS.handlerTimeoutMs.fallback,
  );
});

/** A container: a network and processes of its own. */
const NAMESPACE = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"];
const canIsolate =
  spawnSync("unshare", [...NAMESPACE, "ip", "link", "set", "lo", "up"]).status === 0;

/** Runs the command of a Dockerfile as process 1 of a container, and returns its address outside. */
function startContainer(cwd: string, subnet: string) {
  const [, cmd = ""] = /^CMD (.+)$/m.exec(dockerfile) ?? [];
  const [program = "", ...args] = JSON.parse(cmd) as string[];
  expect(program).toBe("node");
  // Process 1 waits for its network, then becomes Node.
  const command = ["sh", "-c", 'read network; exec "$@"', "sh", NODE_24, ...args];
  const child = spawn("unshare", [...NAMESPACE, ...command], {
    cwd,
    env: { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pid = String(child.pid);
  const own = `igw${pid}`;
  const run = (line: string) => execFileSync("sh", ["-ec", line]);
  run(`until [ "$(readlink /proc/${pid}/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
    ip link add ${own} type veth peer name eth0 netns ${pid}
    ip addr add ${subnet}.1/30 dev ${own} && ip link set ${own} up
    nsenter -t ${pid} -n sh -ec "ip addr add ${subnet}.2/30 dev eth0; ip link set eth0 up; ip link set lo up"`);
  // If process 1 is gone, its exit tells.
  child.stdin.on("error", () => undefined).end("up\n");
  const exited = once(child, "exit");
  /** A signal for process 1. */
  const kill = (signal: string) => {
    const tasks = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    process.kill(Number(tasks.trim()), signal);
  };
  return { child, exited, kill, url: `http://${subnet}.2:3000` };
}

describeService(
  "the image",
  canIsolate ? undefined : "namespaces of network and processes (unshare and ip, as root)",
  () => {
    let project: InstalledPackage;
    beforeAll(async () => {
      await installPlatform("node");
    });
    afterEach(() => {
      project.remove();
    });

    test.each(["express", "fastify", "hono", "koa", "node"])(
      "what init writes for %s runs by the Dockerfile and the manifest: reached from outside, and on SIGTERM it finishes its handler and exits with 0",
      async (name) => {
        project = installPackage("module");
        rmSync(path.join(project.folder, "package.json"));
        const cli = "node_modules/identity-gateway-webhooks/dist/cli.js";
        project.node([cli, "init", "--framework", name, "--yes"]);
        for (const wanted of FRAMEWORKS[name]?.packages ?? []) project.borrow(wanted);
        const image = path.join(project.folder, "image");
        mkdirSync(image);
        // What `npm ci --omit=dev` leaves: no tool to run TypeScript with.
        symlinkSync("../node_modules", path.join(image, "node_modules"));
        const copied = Array.from(dockerfile.matchAll(/^COPY (.+) \.\/$/gm), ([, all = ""]) => all);
        for (const file of copied.join(" ").split(" ")) {
          if (file === "package-lock.json") continue;
          copyFileSync(path.join(project.folder, file), path.join(image, file));
        }
        const code = readFileSync(path.join(image, "gateway.ts"), "utf8");
        const slow = "await new Promise((end) => setTimeout(end, 1_000));";
        expect(code).toContain("new_alarm: (alarm, { id }) => {");
        writeFileSync(
          path.join(image, "gateway.ts"),
          code.replace(
            "new_alarm: (alarm, { id }) => {",
            `new_alarm: async (alarm, { id }) => {\nconsole.log("pid " + process.pid);\n${slow}`,
          ),
        );
        const { child, exited, kill, url } = startContainer(image, `10.77.${process.pid % 250}`);
        try {
          let output = "";
          child.stdout.on("data", (piece: Buffer) => (output += piece.toString()));
          const ready = () => fetch(`${url}/ready`, { headers: { connection: "close" } });
          await vi.waitFor(async () => expect((await ready()).status).toBe(200), 60_000);
          const { headers, body } = await alarmDelivery(1);
          const request = { method: "POST", headers: { ...headers }, body };
          const answered = fetch(`${url}/webhooks/gateway`, request);
          await vi.waitFor(() => expect(output).toContain("pid 1\n"), 60_000);
          kill("SIGTERM");
          expect((await answered).status).toBe(200);
          expect(await exited).toEqual([0, null]);
        } finally {
          child.kill("SIGKILL");
        }
      },
    );
  },
);
