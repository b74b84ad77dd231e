import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { registerWebhooks } from "../../src/management/index.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import type { TwinDelivery } from "../../kit/index.js";
import { desk, startLoad } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const CURRENT = "the-current-secret-0123456789";

/** Runs the real command line, and kills it when it writes a line that begins with `killAt`. */
async function run(argv: readonly string[], env: Record<string, string>, killAt?: string) {
  const child = spawn(process.execPath, [path.join(REPOSITORY, "dist/cli.js"), ...argv], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (killAt !== undefined && line.startsWith(killAt)) child.kill("SIGKILL");
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { ended: code ?? signal, output: lines.join("\n") };
}

test("a rotation that is killed at each step and started again, once twice at the same time, loses and refuses no delivery", async () => {
  const { api, client, environment } = await desk.gateway();
  const { url, secrets, handled, metrics } = await desk.replicas(4, CURRENT);
  const registration = { url, secret: CURRENT, inARow: 4, types: ["new_alarm"] as const };
  expect((await registerWebhooks(client, registration)).result).toBe("registered");
  const env = await environment(CURRENT);
  const nextFile = folder.at("next.txt");
  const command = `webhooks rotate ${url} --next-file ${nextFile} --type new_alarm`;
  // The load takes turns at the balancer too, so twelve probes alone may miss a replica.
  const proof = "--instance-header x-instance --instances 4 --in-a-row 12 --wait 60";
  const watch = metrics.map((one) => `--metrics ${one}`).join(" ");
  const argv = `${command} ${proof} --quiet 3 --look-every 1 ${watch}`.split(" ");
  const load = startLoad(api);

  expect((await run(argv, env, "1/5")).ended).toBe("SIGKILL");
  const next = readFileSync(nextFile, "utf8").trim();
  expect((await run(argv, env, "2/5")).ended).toBe("SIGKILL");
  // Three replicas have the new secret. The fourth gets it while the command waits.
  for (const list of secrets.slice(1)) list.unshift(next);
  const late = setTimeout(() => secrets[0]?.unshift(next), 3_000);
  onTestFinished(() => void late.unref());
  expect((await run(argv, env, "3/5")).ended).toBe("SIGKILL");
  expect(secrets.every((list) => list.includes(next))).toBe(true);
  const both = await Promise.all([run(argv, env, "4/5"), run(argv, env, "4/5")]);
  expect(both.map(({ ended }) => ended).toSorted()).toEqual([1, "SIGKILL"]);
  expect((await run(argv, env, "5/5")).ended).toBe("SIGKILL");
  expect(existsSync(`${nextFile}.state.json`)).toBe(true);
  expect(readFileSync(nextFile, "utf8").trim()).toBe(next);
  const last = await run(argv, env);
  expect(last.ended, last.output).toBe(0);
  expect(last.output).toContain("remove it from the receivers now");

  for (const list of secrets) list.pop();
  const { length } = handled();
  await expect.poll(() => handled().length).toBeGreaterThan(length + 30);
  const deliveries = await load.stop();
  expect(deliveries.length).toBeGreaterThan(100);
  // Every delivery was acknowledged at its first attempt, and handled once.
  const isRefused = ({ end, attempts }: TwinDelivery) =>
    end !== "acknowledged" || attempts.length > 1;
  expect(deliveries.filter(isRefused)).toEqual([]);
  expect(handled().toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted());
});
