import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { registerWebhooks } from "../../src/management/index.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import type { TwinDelivery } from "../../kit/index.js";
import { createRandom } from "../../kit/random.js";
import { desk, startLoad } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const CURRENT = "the-current-secret-0123456789";

/** Runs the real command line, and kills it when it writes a line that matches, or after as many milliseconds. */
async function run(argv: readonly string[], env: Record<string, string>, killAt?: RegExp | number) {
  const child = spawn(process.execPath, [path.join(REPOSITORY, "dist/cli.js"), ...argv], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (killAt instanceof RegExp && killAt.test(line)) child.kill("SIGKILL");
  });
  const killing = setTimeout(
    () => child.kill("SIGKILL"),
    typeof killAt === "number" ? killAt : 600_000,
  );
  child.stderr.on("data", (text: Buffer) => lines.push(text.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(killing);
  return { ended: code ?? signal, lines };
}

function rotation(url: string, nextFile: string, metrics: readonly string[], proof: string) {
  const command = `webhooks rotate ${url} --next-file ${nextFile} --type new_alarm`;
  const options = `--instance-header x-instance ${proof} --wait 60 --quiet 3 --look-every 1`;
  const watched = metrics.flatMap((one) => ["--metrics", one]);
  return [...`${command} ${options}`.split(" "), ...watched];
}

/** Every delivery was acknowledged at its first attempt, and handled once. */
function expectNoneRefused(deliveries: readonly TwinDelivery[], handled: readonly string[]): void {
  expect(
    deliveries.filter(({ end, attempts }) => end !== "acknowledged" || attempts.length > 1),
  ).toEqual([]);
  expect(handled.toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted());
}

test("a rotation that is killed at each step and started again loses and refuses no delivery", async () => {
  const { api, client, environment } = await desk.gateway();
  const { url, secrets, handled, metrics } = await desk.replicas(4, CURRENT);
  const registration = { url, secret: CURRENT, inARow: 4, types: ["new_alarm"] as const };
  expect((await registerWebhooks(client, registration)).result).toBe("registered");
  const env = await environment(CURRENT);
  const nextFile = folder.at("next.txt");
  // The load takes turns at the balancer too, so twelve probes alone may miss a replica.
  const argv = rotation(url, nextFile, metrics, "--instances 4 --in-a-row 12");
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
  const { length } = handled();
  await expect.poll(() => handled().length).toBeGreaterThan(length + 30);
  const deliveries = await load.stop();
  expect(deliveries.length).toBeGreaterThan(100);
  expectNoneRefused(deliveries, handled());
});

/** How many rotations the next test makes. */
const ROTATIONS = Number(process.env["ROTATIONS"] ?? 2);

/** Less than `--quiet 3`, so no rotation is finished before its kill. */
const KILLED_BEFORE_MS = 3_000;

test(
  `${String(ROTATIONS)} rotations there and back, by two commands at once that are killed at a random moment, refuse no first attempt`,
  { timeout: ROTATIONS * 60_000 },
  async () => {
    const { api, client, environment } = await desk.gateway();
    const { url, secrets, handled, metrics } = await desk.replicas(2, CURRENT);
    await registerWebhooks(client, { url, secret: CURRENT, inARow: 2, types: ["new_alarm"] });
    const files = [folder.at("there.txt"), folder.write("back.txt", `${CURRENT}\n`, 0o600)];
    const random = createRandom(20_261_125);
    const load = startLoad(api);
    let old = CURRENT;
    for (let turn = 0; turn < ROTATIONS; turn += 1) {
      const nextFile = files[turn % 2] ?? "";
      const argv = rotation(url, nextFile, metrics, "--instances 2 --in-a-row 6");
      const env = await environment(old);
      // The receivers get the new secret as soon as there is one, one after the other.
      let deployed = 0;
      const deploy = setInterval(() => {
        const next = existsSync(nextFile) ? readFileSync(nextFile, "utf8").trim() : "";
        if (next !== "" && deployed < secrets.length) secrets[deployed++]?.unshift(next);
      }, 300);
      onTestFinished(() => {
        clearInterval(deploy);
      });

      // One of the two is refused, or both are killed.
      const both = [0, 1].map(() => run(argv, env, random.below(KILLED_BEFORE_MS)));
      const ends = (await Promise.all(both)).map(({ ended }) => ended);
      expect(ends).toContain("SIGKILL");
      const last = await run(argv, env);
      clearInterval(deploy);
      expect(last.ended, last.lines.join("\n")).toBe(0);
      expect(deployed).toBe(secrets.length);
      for (const list of secrets) list.pop();
      old = readFileSync(nextFile, "utf8").trim();
    }
    const { length } = handled();
    await expect.poll(() => handled().length).toBeGreaterThan(length + 30);
    const deliveries = await load.stop();
    expectNoneRefused(deliveries, handled());
  },
);
