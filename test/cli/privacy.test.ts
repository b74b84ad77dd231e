import { expect, test } from "vitest";
import { closedAfterEach } from "../support/closed-after-each.js";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";

const closing = closedAfterEach();

async function answering(...answers: Parameters<typeof answeringEndpoint>) {
  const endpoint = await answeringEndpoint(...answers);
  closing.push(endpoint.close);
  return endpoint;
}

test("send shows neither the secret nor the signature, and the body only with --show-body", async () => {
  const { url } = await answering({ status: 500, body: `no: ${TEST_SECRET}` });
  const { stdout } = await runCommand(["send", url]);
  expect(stdout).not.toContain(TEST_SECRET);
  expect(stdout).not.toMatch(/v1=[0-9a-f]/);
  expect(stdout).not.toContain("account_id");
  expect((await runCommand(["send", url, "--show-body"])).stdout).toContain('"account_id"');
});

test("an answer cannot control the terminal", async () => {
  const { url } = await answering({ status: 200, body: '{"outcome":"\\u001b[2Jgone\\u009b"}' });
  const { stdout } = await runCommand(["send", url]);
  expect(stdout).toContain("\\u001b[2Jgone\\u009b");
  expect(stdout).not.toMatch(/[\u001b\u009b]/);
});
