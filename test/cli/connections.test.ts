import { getEventListeners } from "node:events";
import http from "node:http";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { connectionFault } from "../../cli/send/connection-fault.js";
import { sendFault } from "../../cli/send/exchange.js";
import { createHandledProbe } from "../../cli/doctor/probes.js";
import { shownUrl } from "../../cli/options/target-url.js";
import { isLoopback } from "../../src/management/call-settings.js";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";

test("the reason for a missing answer is the first of several, and never empty", () => {
  const refused = new Error("connect ECONNREFUSED ::1:3000");
  const cause = new AggregateError([refused, new Error("another")]);
  expect(sendFault(new Error("", { cause }))).toBe("connect ECONNREFUSED ::1:3000");
  expect(sendFault(new Error("no answer within 5 ms"))).toBe("no answer within 5 ms");
  expect(sendFault(new Error("all", { cause: new AggregateError([]) }))).toBe("all");
  expect(sendFault("a\u001btext")).toBe("a\\u001btext");
});

test.each([
  ["http://LOCALHOST/", true],
  ["http://localhost./", true],
  ["http://127.1/", true],
  ["http://0x7f000001/", true],
  ["http://128.0.0.1/", false],
  ["http://127.evil.example/", false],
  ["http://[::2]/", false],
  ["http://[::ffff:8.8.8.8]/", false],
  ["http://localhost.evil.example/", false],
])("%s is this machine: %s", (url, expected) => {
  expect(isLoopback(new URL(url))).toBe(expected);
});

test("a URL is shown without its parts that may be secret", () => {
  const url = new URL("https://user:password@example.com:8443/hook?token=t#f");
  expect(shownUrl(url)).toBe("https://example.com:8443/hook?…");
});

test("a --handled probe reads a number from a 200 and counts 404 as 0; any other answer is an error", async () => {
  const { url, seen } = await answeringEndpoint(
    { status: 200, body: " 12\n" },
    { status: 404, body: "not found" },
    { status: 200, body: "many" },
    { status: 500, body: "1" },
    { status: 500, body: "1" },
  );
  const probe = createHandledProbe(`${url}?of={id}`, {});
  expect(await probe("one")).toBe(12);
  expect(await probe("one")).toBe(0);
  await expect(probe("one")).rejects.toThrow(
    "--handled answered 200; expected 200 with a whole number",
  );
  await expect(probe("one")).rejects.toThrow("--handled answered 500");
  // An id outside of the grammar may have no URL of its own.
  expect(await probe("")).toBe(0);
  expect(seen.every(({ method }) => method === "GET")).toBe(true);
  const gone = createHandledProbe("127.0.0.1:1/{id}", {});
  await expect(gone("one")).rejects.toThrow(/^--handled got no answer: .*ECONNREFUSED/);
});

test.each(["ftp://127.0.0.1/{id}", "{id}", "http://127.0.0.1/"])(
  "%s is no probe",
  async (handled) => {
    const argv = ["doctor", "http://127.0.0.1:1/", "--handled", handled];
    await expectEnd(runCommand(argv), { code: 2, stderr: "--handled must be" });
  },
);

test.each([
  ["http://255.255.255.255/", ":80"],
  ["https://255.255.255.255/", ":443"],
])("of %s the port is %s", async (url, port) => {
  await expectEnd(runCommand(`doctor ${url} --yes`), { code: 1, stdout: `255.255.255.255${port}` });
});

test("doctor stops at an endpoint that closes the connection without an answer", async () => {
  const url = await serving(net.createServer((socket) => socket.destroy()));
  const argv = ["doctor", url, "--only", "alarm"];
  const { code, stdout } = await runCommand(argv);
  expect(code).toBe(1);
  expect(stdout).toContain("closes the connection without an answer");
  expect(stdout).not.toContain("a genuine alarm");
});

test("doctor sends only the types and sizes that the options allow", async () => {
  const sizes: number[] = [];
  const server = http.createServer((req, res) => {
    let bytes = 0;
    req.on("data", (chunk: Buffer) => (bytes += chunk.length));
    req.on("end", () => {
      sizes.push(bytes);
      res.writeHead(bytes > 10_000 ? 409 : 200).end();
    });
  });
  const url = await serving(server);
  const argv = ["--only", "oversize", "--only", "event", "--type", "new_alarm", "--json"];
  const { stdout } = await runCommand(["doctor", url, "--max-body-bytes", "10000", ...argv]);
  const { cases } = JSON.parse(stdout) as { cases: { id: string; result: string }[] };
  expect(cases).toMatchObject([
    { id: "event", result: "not_judged" },
    { id: "oversize", result: "passed" },
  ]);
  expect(Math.max(...sizes)).toBeGreaterThan(10_000);
  expect(Math.max(...sizes)).toBeLessThan(100_000);
});

test("--body refuses a folder, and a path through a file", async () => {
  const file = fileURLToPath(import.meta.url);
  const argv = ["send", "http://127.0.0.1/", "--body"];
  expect((await runCommand([...argv, "/"])).stderr).toContain("it is a folder");
  expect((await runCommand([...argv, `${file}/x`])).stderr).toContain("is not a folder");
});

test("a connection that was tried leaves no listener on the signal of the run", async () => {
  const url = new URL(await serving(http.createServer()));
  const { signal } = new AbortController();
  for (let tried = 0; tried < 3; tried++) {
    expect(await connectionFault(url, {}, signal)).toBeUndefined();
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("an abort ends the wait for a TLS handshake that no one answers", async () => {
  const ending = new AbortController();
  const server = net.createServer(() => ending.abort());
  const url = new URL((await serving(server)).replace("http", "https"));
  const started = performance.now();
  expect(await connectionFault(url, {}, ending.signal)).toBeUndefined();
  // The wait without an abort is 10 s.
  expect(performance.now() - started).toBeLessThan(9_000);
});
