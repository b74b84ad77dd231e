import { getEventListeners } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createHandledProbe, readHandlerSwitch } from "../../cli/doctor/probes.js";
import { shownUrl } from "../../cli/options/target-url.js";
import { connectionFault } from "../../cli/send/connection-fault.js";
import { sendFault } from "../../cli/send/exchange.js";
import { isLoopback } from "../../src/management/call-settings.js";
import { expectEnd, oneLine, runCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { deferred } from "../support/deferred.js";
import { serving, servingTls } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

/** Runs doctor, which must stop at one finding. */
async function obstacle(url: string, ...argv: readonly string[]) {
  const junit = folder.at("obstacle.xml");
  const { stdout } = await expectEnd(["doctor", url, "--junit", junit, ...argv], {
    code: 1,
    stdout: "Nothing else was tested.",
    // No case was announced or run.
    stderr: "",
  });
  expect(stdout.trimEnd().split("\n").length).toBeLessThan(8);
  expect(readFileSync(junit, "utf8")).toMatch(/tests="1" failures="1" errors="0"/);
  return oneLine(stdout);
}

async function answering(status: number): Promise<string> {
  const { url } = await answeringEndpoint({ status });
  return url;
}

/** Redirects everything to an endpoint. */
function redirecting(status: number, location: string): Promise<string> {
  const server = http.createServer((_req, res) => res.writeHead(status, { location }).end());
  return serving(server);
}

/** Takes connections and does this with each. */
function taking(connected: (socket: net.Socket) => void): Promise<string> {
  return serving(net.createServer((socket) => connected(socket.on("error", () => undefined))));
}

const startTls = () =>
  servingTls((req, res) => {
    req.resume().on("end", () => res.writeHead(409).end());
  });

const overTls = (url: string) => url.replace("http", "https");

/** What is at a URL, and the finding of doctor about it. */
const OBSTACLES: Readonly<Record<string, readonly [() => Promise<string>, RegExp, string?]>> = {
  "a wrong path, which it names, and not the signature": [
    () => answering(404),
    /^(?!.*HMAC).*✗ http:\S+ answers 404 to a signed POST: no webhook is at this path Pass the path at which/,
  ],
  "a method that is not allowed": [() => answering(405), /answers 405/],
  "a proxy alone": [() => answering(502), /a proxy is there, but no endpoint behind/],
  "no one at the URL": [silentUrl, /no connection to http.*ECONNREFUSED.* Start the endpoint/],
  "no one at another name of this machine": [
    () => Promise.resolve("http://app.localhost:1/"),
    /no connection to/,
    "--timeout=2000",
  ],
  "an unknown host": [
    () => Promise.resolve("http://no-such-host.invalid:1/"),
    /no connection to .* No such host name is known: correct it\./,
    "--yes",
  ],
  "a port without HTTP": [() => taking((socket) => socket.end("SSH-2.0-a\r\n")), /is no HTTP/],
  "an endpoint that never answers": [
    () => taking(() => undefined),
    /no answer within 100 ms.*--timeout waits longer/,
    "--timeout=100",
  ],
  "an endpoint that closes the connection": [
    () => taking((socket) => socket.destroy()),
    /closes the connection without an answer(?!.*a genuine alarm)/,
  ],
  "a self-signed certificate": [
    startTls,
    /is not trusted: self-signed certificate.*pass --insecure/,
  ],
  "http:// to a port of TLS": [
    async () => (await startTls()).replace("https", "http"),
    /https:\/\//,
  ],
  // Without OpenSSL's own text.
  "https:// to a port without TLS": [
    async () => overTls(await answering(200)),
    /^✗ 127\.0\.0\.1:\d+ does not speak TLS Begin the URL with http:\/\/(?!.*(?:EPROTO|SSL|\\n))/,
  ],
};

test.each(Object.entries(OBSTACLES))(
  "doctor has one finding about %s",
  async (_what, [start, finding, ...argv]) => {
    expect(await obstacle(await start(), ...argv.map(String))).toMatch(finding);
  },
);

test.each([
  ["http://255.255.255.255/", ":80"],
  ["https://255.255.255.255/", ":443"],
])("of %s the port is %s", async (url, port) => {
  expect(await obstacle(url, "--yes")).toContain(`255.255.255.255${port}`);
});

test("doctor --insecure takes a self-signed certificate", async () => {
  await expectEnd(`doctor ${await startTls()} --insecure --only no_server_errors`, { code: 0 });
});

describe("a redirect", () => {
  test("is one finding of doctor, which names its target and the option that follows it", async () => {
    const said = await obstacle(await redirecting(308, "/webhooks/gateway/?token=x"));
    expect(said).toMatch(/answers 308, a redirect to http:\S+\/webhooks\/gateway\/\?…/);
    expect(said).toContain("No document says whether the gateway follows redirects.");
    expect(said).toContain("--redirects shows what that is answered");
    expect(said).not.toContain("A delivery that follows it");
  });

  const AS_GET =
    "A delivery that follows it arrives as a GET without a body and is answered 409 malformed: the gateway sends it again, and the next attempt ends the same way.";
  const AS_POST =
    "A delivery that follows it arrives and is answered 200 handled: the gateway takes it for handled.";
  test.each([
    [301, AS_GET],
    [302, AS_GET],
    [303, AS_GET],
    [308, AS_POST],
  ])("of %i is followed by doctor --redirects as HTTP says", async (status, sentence) => {
    const { url } = await receivingEndpoint();
    expect(await obstacle(await redirecting(status, url), "--redirects")).toContain(sentence);
  });

  const ELSEWHERE = "https://receiver.example/hooks";
  test.each<[string, string | (() => Promise<string>), string]>([
    ["to no HTTP URL", "mailto:someone@example.com", "was not followed: it is no HTTP URL."],
    ["to another machine", ELSEWHERE, `${ELSEWHERE} was not followed, because it is another`],
    ["to itself", "", "It redirects more than 10 times."],
    [
      "to a page",
      () => answering(200),
      "is answered 200: the gateway takes it for handled, though it is lost.",
    ],
  ])("%s is told with what becomes of the delivery", async (_where, to, sentence) => {
    const location = typeof to === "string" ? to : await to();
    expect(await obstacle(await redirecting(301, location), "--redirects")).toContain(sentence);
  });
});

describe("--handled", () => {
  test.each([404, 500])("that answers %i is one finding of doctor", async (status) => {
    const { url } = await receivingEndpoint();
    const said = await obstacle(url, "--handled", `${await answering(status)}/{id}`);
    expect(said).toContain(`✗ --handled answered ${status}; expected 200 with a whole number`);
    expect(said).toContain("Correct the URL of --handled");
  });

  test("without an answer is one finding of doctor", async () => {
    const { url } = await receivingEndpoint();
    const probe = (await silentUrl()).replace("http://", "");
    const said = await obstacle(url, "--handled", `${probe}/{id}`);
    expect(said).toMatch(/--handled got no answer: .*ECONNREFUSED/);
  });

  test("that answers 0, as behind a queue, and one behind a receiver without handlers, are left to the cases", async () => {
    const { url } = await receivingEndpoint();
    const doctor = (to: string, probe: string) =>
      runCommand(`doctor ${to} --only no_server_errors --handled ${probe}/{id}`);
    const count = await answeringEndpoint({ status: 200, body: "0" });
    await expectEnd(doctor(url, count.url), { code: 0 });
    const unhandled = await answeringEndpoint({ status: 200, body: '{"outcome":"unhandled"}' });
    const stderr = "1 case with made-up deliveries";
    await expectEnd(doctor(unhandled.url, await answering(404)), { stderr });
  });

  test("reads a number from a 200 and counts 404 as 0; any other answer is an error", async () => {
    const { url, seen } = await answeringEndpoint(
      { status: 200, body: " 12\n" },
      { status: 404, body: "not found" },
      { status: 200, body: "many" },
      { status: 500, body: "1" },
    );
    const probe = createHandledProbe(`${url}?of={id}`, {});
    expect(await probe("one")).toBe(12);
    expect(await probe("one")).toBe(0);
    const fault = "--handled answered 200; expected 200 with a whole number";
    await expect(probe("one")).rejects.toThrow(fault);
    await expect(probe("one")).rejects.toThrow("--handled answered 500");
    // An id outside of the grammar may have no URL of its own.
    expect(await probe("")).toBe(0);
    expect(seen.every(({ method }) => method === "GET")).toBe(true);
  });

  test.each(["ftp://127.0.0.1/{id}", "{id}", "http://127.0.0.1/"])(
    "of %s is no probe",
    async (handled) => {
      const command = `doctor http://127.0.0.1:1/ --handled ${handled}`;
      await expectEnd(command, { code: 2, stderr: "--handled must be" });
    },
  );
});

test("--json has the finding, and a path that is wrong for one type only is left to the cases", async () => {
  const json = { obstacle: { code: "unreachable" }, cases: [], passed: false };
  await expectEnd(`doctor ${await silentUrl()} --json`, { json });
  const { url } = await answeringEndpoint({ status: 404 }, { status: 200 });
  await expectEnd(`doctor ${url} --only alarm`, { stdout: "✓ a genuine alarm is acknowledged" });
});

describe("an endpoint that ends midway", () => {
  /** Runs doctor on an endpoint that closes at its twelfth request. */
  async function stopped(...format: readonly string[]): Promise<string> {
    const endpoint = await receivingEndpoint();
    let count = 0;
    const front = http.createServer((req, res) => {
      if (++count === 12) {
        front.close();
        front.closeAllConnections();
        return;
      }
      const headers = { ...req.headers, connection: "close" };
      const on = http.request(endpoint.url, { method: req.method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 500);
        answer.pipe(res);
      });
      on.on("error", () => res.destroy());
      req.pipe(on);
    });
    const junit = folder.at("stopped.xml");
    const argv = ["doctor", await serving(front), "--require-judged", "--junit", junit, ...format];
    const { stdout } = await expectEnd(argv, { code: 1 });
    const xml = readFileSync(junit, "utf8");
    expect(xml).toMatch(/failures="1" errors="0"/);
    expect(xml).toContain('classname="must.preflight" name="stopped:');
    return stdout;
  }

  test("is one finding of doctor, and the cases after it are not judged", async () => {
    const stdout = await stopped();
    expect(stdout.match(/✗ the endpoint stopped answering during/g)).toHaveLength(1);
    expect(stdout).toContain("  This case and those after it are not judged.");
    expect(stdout).toMatch(/✗ \d+ passed, \d+ not judged\n\nleft behind:\n/);
    expect(stdout).not.toContain("HMAC");
  });

  test("is one finding of doctor --json", async () => {
    const report = JSON.parse(await stopped("--json")) as { cases: { result: string }[] };
    expect(report).toMatchObject({ obstacle: { code: "stopped" }, notProven: [], passed: false });
    const results = report.cases.map(({ result }) => result);
    expect(results).not.toContain("failed");
    expect([results[0], results.at(-1)]).toEqual(["passed", "not_judged"]);
  });
});

test("--junit writes a file however the run ends", async () => {
  const junit = folder.at("always.xml");
  const { url } = await receivingEndpoint();
  for (const [command, written, secret] of [
    ["http://192.0.2.1/hook", /errors="1".*<error message="this would send made-up/s, "s"],
    ["http://127.0.0.1:1/", /<error message="no secret: set GATEWAY_WEBHOOK_SECRET/, undefined],
    [`${url} --only no_server_errors`, /tests="1" failures="0" errors="0" skipped="0"/, "s"],
  ] as const) {
    const env = { GATEWAY_WEBHOOK_SECRET: secret };
    await runCommand(`doctor ${command} --junit ${junit}`, { env });
    expect(readFileSync(junit, "utf8")).toMatch(written);
    rmSync(junit);
  }
});

test("the reason for a missing answer is the first of several, and never empty", () => {
  const refused = new Error("connect ECONNREFUSED ::1:3000");
  const cause = new AggregateError([refused, new Error("another")]);
  expect(sendFault(new Error("", { cause }))).toBe("connect ECONNREFUSED ::1:3000");
  expect(sendFault(new Error("no answer within 5 ms"))).toBe("no answer within 5 ms");
  expect(sendFault(new Error("all", { cause: new AggregateError([]) }))).toBe("all");
  expect(sendFault("a\u001btext")).toBe("a\\u001btext");
});

test.each([
  ["http://localhost./", true],
  ["http://127.8.9.1:1/", true],
  ["http://[::1]:1/", true],
  ["http://[::ffff:127.0.0.1]:1/", true],
  ["http://0.0.0.0/hook", false],
  ["http://localhost.evil.example/", false],
  ["http://[2001:db8::1]/hook", false],
  ["http://[::ffff:8.8.8.8]/", false],
])("%s is this machine: %s", (url, expected) => {
  expect(isLoopback(new URL(url))).toBe(expected);
});

test.each([
  ["http://example.com/hook"],
  ["http://127.0.0.1/hook", "--handled", "http://192.0.2.1/{id}"],
])("%s is refused before anything is sent: it is another machine", async (...argv) => {
  await expectEnd(["doctor", ...argv], { code: 2, stderr: "--yes" });
});

test("a URL is shown without its parts that may be secret", () => {
  const url = new URL("https://user:password@example.com:8443/hook?token=t#f");
  expect(shownUrl(url)).toBe("https://example.com:8443/hook?…");
});

test("doctor sends only the types and sizes that the options allow", async () => {
  const sizes: number[] = [];
  const server = http.createServer((req, res) => {
    void buffer(req).then(({ length }) => {
      sizes.push(length);
      res.writeHead(length > 10_000 ? 409 : 200).end();
    });
  });
  const argv = "--max-body-bytes 10000 --only oversize --only event --type new_alarm --json";
  const cases = [
    { id: "event", result: "not_judged" },
    { id: "oversize", result: "passed" },
  ];
  await expectEnd(`doctor ${await serving(server)} ${argv}`, { json: { cases } });
  expect(Math.max(...sizes)).toBeGreaterThan(10_000);
  expect(Math.max(...sizes)).toBeLessThan(100_000);
});

test("--body refuses a folder, and a path through a file", async () => {
  const file = fileURLToPath(import.meta.url);
  await expectEnd("send http://127.0.0.1/ --body /", { stderr: "it is a folder" });
  await expectEnd(`send http://127.0.0.1/ --body ${file}/x`, { stderr: "is not a folder" });
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
  const url = new URL(overTls(await taking(() => ending.abort())));
  const started = performance.now();
  expect(await connectionFault(url, {}, ending.signal)).toBeUndefined();
  // The wait without an abort is 10 s.
  expect(performance.now() - started).toBeLessThan(9_000);
});

test("an interruption while the handler is being switched on switches it off after that", async () => {
  const answered: string[] = [];
  const held = deferred();
  const [onArrived, offArrived] = [deferred(), deferred()];
  const url = await serving(
    http.createServer((req, res) => {
      const isOff = req.url === "/off";
      (isOff ? offArrived : onArrived).resolve();
      void (isOff ? Promise.resolve() : held.promise).then(() => {
        answered.push(req.url ?? "");
        res.end();
      });
    }),
  );
  const switches = { "while-failing-on": `${url}on`, "while-failing-off": `${url}off` };
  const values = { ...switches, "while-slow-on": undefined, "while-slow-off": undefined };
  const one = readHandlerSwitch("while-failing", values, {});
  const during = one?.during(() => Promise.resolve("worked"));
  await onArrived.promise;
  const restored = one?.restore();
  // Time for an "off" that does not wait.
  await Promise.race([offArrived.promise, wait(300)]);
  held.resolve();
  await Promise.all([during, restored]);
  expect(answered).toEqual(["/on", "/off"]);
});
