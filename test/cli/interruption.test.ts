import http from "node:http";
import { afterEach, expect, test } from "vitest";
import { startCommand } from "../support/cli/cli-io.js";
import { fixturesFolder } from "../support/fixtures.js";
import { eventually } from "../support/listening-receiver.js";
import { listen } from "../support/servers.js";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** An endpoint that never answers. */
async function silentEndpoint() {
  let asked = 0;
  const server = http.createServer(() => {
    asked += 1;
  });
  const { port, close } = await listen(server);
  closing.push(() => {
    server.closeAllConnections();
    return close();
  });
  return { url: `http://127.0.0.1:${String(port)}/`, asked: () => asked };
}

test("Ctrl-C ends the wait for an answer, and nothing is printed", async () => {
  const { url, asked } = await silentEndpoint();
  const command = startCommand(["send", url]);
  await eventually(asked).toBe(1);
  command.interrupt();
  expect(await command.exitCode).toBe(130);
  expect(command.stdout() + command.stderr()).toBe("");
});

test("Ctrl-C before the first answer of a replay shows no table", async () => {
  const { url, asked } = await silentEndpoint();
  const command = startCommand(["replay", fixturesFolder, "--to", url]);
  await eventually(asked).toBe(1);
  command.interrupt();
  expect(await command.exitCode).toBe(130);
  expect(command.stdout()).toBe("");
});

test("Ctrl-C before a port is open leaves no port open", async () => {
  const command = startCommand(["listen", "--port", "0"]);
  command.interrupt();
  expect(await command.exitCode).toBe(130);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\//.exec(command.stdout()) ?? [];
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});
