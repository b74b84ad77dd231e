import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { crmLogin, registerWebhooks } from "../../src/management/index.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { desk } from "../support/management/desk.js";
import { startLoad } from "../support/management/load.js";
import { startReplicas } from "../support/management/replicas.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const CURRENT = "the-current-secret-0123456789";

/** Runs the real command line, and kills it when it writes a line that matches `killAt`. */
async function run(argv: readonly string[], env: Record<string, string>, killAt?: RegExp) {
  const child = spawn(process.execPath, [path.join(REPOSITORY, "dist/cli.js"), ...argv], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (killAt?.test(line) === true) child.kill("SIGKILL");
  });
  child.stderr.on("data", (text: Buffer) => lines.push(text.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { ended: code ?? signal, lines };
}

test("a rotation that is killed at each step and started again loses and refuses no delivery", async () => {
  const { api, baseUrl, client } = await desk.gateway();
  const { url, secrets, handled, metrics } = await startReplicas(4, CURRENT);
  const registration = { url, secret: CURRENT, inARow: 4, types: ["new_alarm"] as const };
  expect((await registerWebhooks(client, registration)).result).toBe("registered");
  const { token } = await crmLogin({ baseUrl, credentials: {} });
  const env = {
    ...{ GATEWAY_BASE_URL: baseUrl, GATEWAY_CRM_TOKEN: token },
    GATEWAY_WEBHOOK_SECRET: CURRENT,
  };
  const nextFile = folder.at("next.txt");
  const argv = [
    ...`webhooks rotate ${url} --next-file ${nextFile} --type new_alarm`.split(" "),
    // The load takes turns at the balancer too, so twelve probes alone may miss a replica.
    ..."--instance-header x-instance --instances 4 --in-a-row 12".split(" "),
    ..."--wait 60 --quiet 3 --look-every 1".split(" "),
    ...metrics.flatMap((one) => ["--metrics", one]),
  ];
  const load = startLoad(api);

  expect((await run(argv, env, /^1\/5/)).ended).toBe("SIGKILL");
  const next = readFileSync(nextFile, "utf8").trim();
  expect((await run(argv, env, /^2\/5/)).ended).toBe("SIGKILL");
  // Three replicas have the new secret. The fourth gets it while the command waits.
  for (const list of secrets.slice(1)) list.unshift(next);
  const late = setTimeout(() => secrets[0]?.unshift(next), 3_000);
  onTestFinished(() => void late.unref());
  expect((await run(argv, env, /^3\/5/)).ended).toBe("SIGKILL");
  expect(secrets.every((list) => list.includes(next))).toBe(true);
  expect((await run(argv, env, /^4\/5/)).ended).toBe("SIGKILL");
  expect((await run(argv, env, /^5\/5/)).ended).toBe("SIGKILL");
  expect(existsSync(`${nextFile}.state.json`)).toBe(true);
  expect(readFileSync(nextFile, "utf8").trim()).toBe(next);
  const last = await run(argv, env);
  expect(last.ended, last.lines.join("\n")).toBe(0);
  expect(last.lines.join("\n")).toContain("remove it from the receivers now");

  for (const list of secrets) list.pop();
  const { length } = handled;
  await expect.poll(() => handled.length).toBeGreaterThan(length + 30);
  const deliveries = await load.stop();
  expect(deliveries.length).toBeGreaterThan(100);
  // The first attempt of each was acknowledged, so none was refused even once.
  expect(
    deliveries.filter(({ end, attempts }) => end !== "acknowledged" || attempts.length > 1),
  ).toEqual([]);
  expect(handled.toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted());
});
