import { expect, test } from "vitest";
import { UsageError } from "../../cli/exit.js";
import { readTargetUrl } from "../../cli/options/target-url.js";
import { runCommand } from "../support/cli/cli-io.js";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";

test.each([
  ["127.0.0.1:3000/webhooks/gateway", "http://127.0.0.1:3000/webhooks/gateway"],
  ["localhost:3000", "http://localhost:3000/"],
  ["web_app:8080/hook?token=x", "http://web_app:8080/hook?token=x"],
  ["[::1]:3000/hook", "http://[::1]:3000/hook"],
  ["staging.example.com:443/hook", "https://staging.example.com/hook"],
  ["staging.example.com:8443/hook", "https://staging.example.com:8443/hook"],
  ["https://example.com/hook", "https://example.com/hook"],
])("%s is read as %s", (given, url) => {
  expect(readTargetUrl(given).href).toBe(url);
});

test.each([
  "whsec_0123456789abcdef",
  "localhost",
  "user:password@example.com:3000/hook",
  "example.com:99999/hook",
  "ftp://example.com:3000/hook",
  "127.0.0.1:3000 /hook",
  "",
])("%j is no endpoint, and the message does not repeat it", (given) => {
  let message = "";
  try {
    readTargetUrl(given);
  } catch (error) {
    if (error instanceof UsageError) ({ message } = error);
  }
  expect(message).toContain("must be an http or https URL");
  if (given !== "") expect(message).not.toContain(given);
});

test("send, replay and doctor take host:port/path without a scheme", async () => {
  const { url } = await receivingEndpoint();
  const short = url.replace("http://", "");
  const sent = await runCommand(`send ${short}`);
  const replayed = await runCommand(`replay fixtures/golden-vector.json --to ${short}`);
  const doctored = await runCommand(`doctor ${short} --only alarm`);
  expect(sent.stdout).toContain(`POST ${url}`);
  expect([sent.code, replayed.code, doctored.code]).toEqual([0, 0, 0]);
});
