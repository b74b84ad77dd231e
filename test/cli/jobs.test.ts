import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { QueueDriver } from "../../src/inbox/queue-driver.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { queueAlarm, settlesAt, watchWorker } from "../support/inbox/receiver-and-worker.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();
const QUEUE = fileURLToPath(new URL("../support/inbox/sqlite-queue.mjs", import.meta.url));
const CANARY = "19121212-1212";

test("jobs lists, replays and discards the dead jobs of a queue in SQLite, by the command that the log names", async () => {
  process.env["QUEUE_FILE"] = folder.at("queue.db");
  const { driver } = (await import(pathToFileURL(QUEUE).href)) as { driver: QueueDriver };
  for (const [n, account] of [1, 2, 3, 3].entries()) {
    await queueAlarm(driver, account, `job-${String(n)}`);
  }
  const failing = watchWorker(driver, () => Promise.reject(new Error(CANARY)), { retryLimit: 0 });
  await settlesAt(() => failing.reports.map(({ outcome }) => outcome), Array(4).fill("dead"));
  await failing.stop();
  const log = failing.lines.join("\n");
  expect(log).toContain("npx identity-gateway-webhooks jobs replay job-0 --module <file>");

  const jobs = (words: string) => runCommand(`jobs ${words} --module ${QUEUE}`);
  const list = await expectEnd(jobs("list"), { stdout: ["job-0", "new_alarm", "4 dead jobs"] });
  expect(list.stdout).toMatch(/job-0 +new_alarm +\d+ +\d{4}-\d\d-\d\dT/);
  await expectEnd(jobs("list --limit 1 --offset 3 --json"), { json: { dead: [{ id: "job-3" }] } });
  await expectEnd(jobs("replay job-0 job-9"), { code: 1, stdout: "1 replayed, not dead: job-9" });
  await expectEnd(jobs("discard job-1"), { code: 2, stderr: "add --yes" });
  await expectEnd(jobs("discard job-1 --yes"), { stdout: "✓ 1 discarded" });
  await expectEnd(jobs("replay --all --max 1 --json"), {
    json: { replayed: ["job-2"], notFound: [], passed: true },
  });
  await expectEnd(jobs("discard --account-id 3 --yes"), { stdout: "1 discarded" });
  await expectEnd(jobs("list"), { stdout: "0 dead jobs" });

  const handled: string[] = [];
  const working = watchWorker(driver, (_alarm, { id }) => handled.push(id));
  onTestFinished(() => working.stop());
  await settlesAt(() => handled.toSorted(), ["job-0", "job-2"]);
});

describe("a module or words that cannot work:", () => {
  test.each([
    ["list", "export const driver = { list: 1 };", "has no list"],
    ["list", "export const queue = 1;", "a file that exports driver"],
    ["list a", "", "list takes no ids"],
    ["replay", "", "replay takes ids, or --all"],
    ["replay a --all", "", "replay takes ids, or --all"],
    ["discard", "", "discard takes ids, or --account-id"],
    ["discard --account-id 1x --yes", "", "--account-id must be"],
    ["show", "", "the first word is list, replay, discard"],
  ])("%s with %j", async (words, code, stderr) => {
    const module = folder.write(`${words.replaceAll(" ", "")}.mjs`, code);
    await expectEnd(`jobs ${words} --module ${module}`, { code: 2, stderr });
  });

  test("a queue that does not answer is given up after 30 s", async () => {
    const code = "export const driver = { list: () => new Promise(() => undefined) };";
    const module = folder.write("silent.mjs", code);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const ended = expectEnd(`jobs list --module ${module}`, {
      code: 1,
      stderr: "did not answer within 30 s: is its server up?",
    });
    await vi.waitFor(() => {
      expect(vi.getTimerCount()).toBe(1);
    });
    await vi.advanceTimersByTimeAsync(30_000);
    await ended;
  });

  test("an error of the engine is shown without its message, which may hold a part of a body", async () => {
    const code = `export const driver = { list: () => Promise.reject(new RangeError("${CANARY}")) };`;
    const module = folder.write("broken.mjs", code);
    await expectEnd(`jobs list --module ${module}`, {
      code: 1,
      stderr: "RangeError",
      never: CANARY,
    });
  });
});
