import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { transform } from "esbuild";
import { parse } from "yaml";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { alarmDelivery } from "../support/inbox/receiver-and-worker.js";
import { freePort } from "../support/free-port.js";
import { installPackage, type InstalledPackage } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";

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
  expect(server).toContain(`process.env.PORT ?? ${String(port)}`);
  expect(ports).toEqual([{ containerPort: port }]);
  expect(dockerfile).toContain(`EXPOSE ${String(port)}`);
  const drainMs = Number(/timeoutMs: ([\d_]+)/.exec(server)?.[1]?.replaceAll("_", ""));
  const preStopMs = 1_000 * Number(lifecycle.preStop.exec.command[1]);
  expect(spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(preStopMs + drainMs);
});

const NAMESPACE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const canIsolate = spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;

describeService(
  "the image's command",
  canIsolate ? undefined : "a PID namespace (unshare, as root)",
  () => {
    let project: InstalledPackage;
    beforeAll(() => {
      project = installPackage("module");
    });
    afterAll(() => {
      project.remove();
    });

    test("as PID 1 it finishes its handler after SIGTERM, refuses new connections, and exits with 0", async () => {
      const [program = "", ...args] = JSON.parse(
        /^CMD (.+)$/m.exec(dockerfile)?.[1] ?? "[]",
      ) as string[];
      expect(program).toBe("node");
      const slow =
        'async () => { console.log("pid " + process.pid); await new Promise((end) => setTimeout(end, 1_000)); }';
      const code = server.replace("(alarm) => console.log(alarm.id)", slow);
      expect(code).toContain(slow);
      project.write(args[0] ?? "", (await transform(code, { loader: "ts" })).code);
      const port = await freePort();
      const child = spawn("unshare", [...NAMESPACE, process.execPath, ...args], {
        cwd: project.folder,
        env: { PATH: process.env["PATH"], PORT: String(port), GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        const exited = once(child, "exit");
        let output = "";
        child.stdout.on("data", (piece: Buffer) => (output += piece.toString()));
        const url = `http://127.0.0.1:${String(port)}`;
        const ready = () => fetch(`${url}/ready`, { headers: { connection: "close" } });
        await vi.waitFor(async () => expect((await ready()).status).toBe(200), 60_000);
        const { headers, body } = await alarmDelivery(1);
        const answered = fetch(url, { method: "POST", headers: { ...headers }, body });
        await vi.waitFor(() => expect(output).toContain("pid 1\n"), 60_000);
        const tasks = readFileSync(`/proc/${String(child.pid)}/task/${String(child.pid)}/children`);
        process.kill(Number(tasks.toString().trim()), "SIGTERM");
        expect((await answered).status).toBe(200);
        expect(await exited).toEqual([0, null]);
        await expect(ready()).rejects.toThrow();
      } finally {
        child.kill("SIGKILL");
      }
    });
  },
);
