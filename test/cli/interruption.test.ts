import http from "node:http";
import { expect, test } from "vitest";
import { startCommand } from "../support/cli/cli-io.js";
import { eventually } from "../support/listening-receiver.js";
import { serving } from "../support/serving.js";

/** An endpoint that never answers. */
async function silentEndpoint() {
  let asked = 0;
  const server = http.createServer(() => {
    asked += 1;
  });
  return { url: await serving(server), asked: () => asked };
}

test("Ctrl-C ends the wait for an answer, and nothing is printed", async () => {
  const { url, asked } = await silentEndpoint();
  const command = startCommand(["send", url]);
  await eventually(asked).toBe(1);
  expect(await command.stop()).toBe(130);
  expect(command.stdout() + command.stderr()).toBe("");
});

test("Ctrl-C before the first answer of a replay shows no table", async () => {
  const { url, asked } = await silentEndpoint();
  const command = startCommand(["replay", "fixtures", "--to", url]);
  await eventually(asked).toBe(1);
  expect(await command.stop()).toBe(130);
  expect(command.stdout()).toBe("");
});

test("Ctrl-C before a port is open leaves no port open", async () => {
  const command = startCommand(["listen", "--port", "0"]);
  expect(await command.stop()).toBe(130);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\//.exec(command.stdout()) ?? [];
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});
