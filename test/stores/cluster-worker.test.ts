import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

it("a receiver without a store warns in a worker of node:cluster", async () => {
  const script = "test/support/cluster-worker-child.ts";
  const env = { ...process.env, NODE_OPTIONS: "", KUBERNETES_SERVICE_HOST: "" };
  const run = promisify(execFile)(process.execPath, ["--import", "tsx", script], {
    cwd: ROOT,
    env,
  });
  expect((await run).stdout).toMatch(
    /this is a worker of node:cluster: a duplicate that reaches another process runs again/,
  );
});
