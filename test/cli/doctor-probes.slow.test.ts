import { expect, test } from "vitest";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import {
  answeringEndpoint,
  probedEndpoint,
  receivingEndpoint,
} from "../support/cli/cli-endpoint.js";
import { eventually } from "../support/listening-receiver.js";

test("with every probe doctor judges every case, and proves it to --require-judged", async () => {
  const { url, probes, switchedOn } = await probedEndpoint();
  const { code, stdout } = await runCommand(["doctor", url, ...probes, "--require-judged"]);
  const [, last = ""] = stdout.split(/✓ \d+ passed\n\nnot proven:\n|\nleft behind:\n/);
  // Only what no run proves.
  expect(last.match(/^ {2}–.*$/gm)).toEqual([
    expect.stringContaining("72 hours"),
    expect.stringContaining("all processes and replicas"),
    expect.stringContaining("which record was handled"),
  ]);
  expect(last).toContain("restart");
  expect(code).toBe(0);
  expect(switchedOn()).toEqual([]);
});

test("without probes the last lines of doctor say what was not proven, and which option proves it", async () => {
  const { url } = await receivingEndpoint();
  const { code, stdout } = await runCommand(`doctor ${url}`);
  expect(code).toBe(0);
  const [, last = ""] = stdout.split(/✓ \d+ passed, 8 not judged\n\nnot proven:\n/);
  expect(last).toContain("→ pass --handled <url>");
  expect(last).toContain("→ pass --while-failing-on <url> and --while-failing-off <url>");
  expect(last).toContain("→ pass --while-slow-on <url> and --while-slow-off <url>");
  expect(last).toMatch(/\d+ cases passed by the answer alone/);
  // The texts name options of the command line, not of the library.
  expect(stdout).not.toMatch(/the option|whileFailing|whileSlow/);
});

test("--require-judged exits 1 for a case that is not judged, but not for a type that --type leaves out", async () => {
  const { url } = await receivingEndpoint();
  const only = ["--only", "alarm", "--only", "event", "--require-judged"];
  expect((await runCommand(["doctor", url, ...only, "--type", "new_alarm"])).code).toBe(0);
  const unproven = await runCommand(["doctor", url, ...only, "--only", "failure_sent_again"]);
  expect(unproven.code).toBe(1);
  expect(unproven.stdout).toContain("✗ 2 passed, 1 not judged");
});

test("doctor convicts a receiver that acknowledges an alarm whose handler fails", async () => {
  const { url, probes } = await probedEndpoint();
  // A proxy in front that answers 200 whatever the app says.
  const front = await answeringEndpoint({ status: 200 });
  const only = ["--only", "failure_sent_again", "--json"];
  const right = await runCommand(["doctor", url, ...probes, ...only]);
  expect(right.code).toBe(0);
  const wrong = await runCommand(["doctor", front.url, ...probes, ...only]);
  expect(wrong.code).toBe(1);
  expect(wrong.stdout).toContain("while the handler fails");
});

test("a switch that does not work fails its case and is named", async () => {
  const { url } = await receivingEndpoint();
  const off = ["--while-failing-off", `${new URL(url).origin}/none`];
  const broken = await answeringEndpoint({ status: 404 });
  const argv = ["doctor", url, "--only", "failure_sent_again", ...off, "--while-failing-on"];
  const { code, stdout } = await runCommand([...argv, broken.url]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/result +--while-failing-on answered 404; expected 2xx/);
  expect(stdout).toContain("1. Repair the probe");
  const silent = await runCommand([...argv, "http://127.0.0.1:1/"]);
  expect(silent.stdout).toMatch(/result +--while-failing-on got no answer: .*ECONNREFUSED/);
});

test("Ctrl-C while the handler fails lets it work again", async () => {
  const { url, probes, switchedOn } = await probedEndpoint();
  // No answer, so that the run stays inside the case.
  const command = startCommand([
    "doctor",
    url,
    ...probes,
    "--only",
    "failure_sent_again",
    "--only",
    "late_handler_counts",
  ]);
  await eventually(switchedOn).not.toEqual([]);
  expect(await command.stop()).toBe(130);
  expect(switchedOn()).toEqual([]);
});

test.each([
  ["--while-failing-on http://127.0.0.1:1/", "--while-failing-on and --while-failing-off belong"],
  ["--while-slow-off http://127.0.0.1:1/", "--while-slow-on and --while-slow-off belong"],
  [
    "--while-slow-on http://192.0.2.1/ --while-slow-off http://127.0.0.1:1/",
    "add --yes to allow it",
  ],
  ["--while-slow-on x --while-slow-off x", "must be an http or https URL"],
  ["--group forgeries", "there is no group forgeries; the nearest are forgery,"],
  ["--group forgery --only alarm", "--only, --group and --skip leave no case"],
])("doctor refuses %j", async (argv, message) => {
  await expectEnd(runCommand(`doctor http://127.0.0.1:1/ ${argv}`), { code: 2, stderr: message });
});
