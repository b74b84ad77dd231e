import { expect, test } from "vitest";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";

test("send shows neither the secret nor the signature, and the body only with --show-body", async () => {
  const { url } = await answeringEndpoint({ status: 500, body: `no: ${TEST_SECRET}` });
  const { stdout } = await runCommand(`send ${url}`);
  expect(stdout).not.toContain(TEST_SECRET);
  expect(stdout).not.toMatch(/v1=[0-9a-f]/);
  expect(stdout).not.toContain("account_id");
  expect((await runCommand(`send ${url} --show-body`)).stdout).toContain('"account_id"');
});

test("an answer cannot control the terminal", async () => {
  const { url } = await answeringEndpoint({
    status: 200,
    body: '{"outcome":"\\u001b[2Jgone\\u009b"}',
  });
  const { stdout } = await runCommand(`send ${url}`);
  expect(stdout).toContain("\\u001b[2Jgone\\u009b");
  expect(stdout).not.toMatch(/[\u001b\u009b]/);
});
