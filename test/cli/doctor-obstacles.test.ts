import { readFileSync, rmSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { expect, test } from "vitest";
import { runCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { testCertificate } from "../support/servers.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

/** Runs doctor, which must stop at one finding. */
async function obstacle(url: string, ...argv: readonly string[]) {
  const junit = folder.at("obstacle.xml");
  const { code, stdout, stderr } = await runCommand(["doctor", url, "--junit", junit, ...argv]);
  expect(code).toBe(1);
  // No case was announced or run.
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n").length).toBeLessThan(8);
  expect(stdout).toContain("Nothing else was tested.");
  expect(readFileSync(junit, "utf8")).toMatch(/tests="1" failures="1" errors="0"/);
  return stdout.replaceAll(/\s+/g, " ");
}

async function answering(status: number): Promise<string> {
  const { url } = await answeringEndpoint({ status });
  return url;
}

test("a wrong path is one finding of doctor, which names the path and not the signature", async () => {
  const url = await answering(404);
  const said = await obstacle(url);
  expect(said).toContain(`✗ ${url} answers 404 to a signed POST: no webhook is at this path`);
  expect(said).toContain("Pass the path at which your app mounts the receiver");
  expect(said).not.toContain("HMAC");
  expect(await obstacle(await answering(405))).toContain("answers 405");
});

test("a proxy without an endpoint is one finding of doctor", async () => {
  expect(await obstacle(await answering(502))).toContain(
    "a proxy is there, but no endpoint behind",
  );
});

test("a redirect is one finding of doctor, which names its target", async () => {
  const server = http.createServer((req, res) => {
    req.resume();
    res.writeHead(308, { location: "/webhooks/gateway/?token=x" }).end();
  });
  const said = await obstacle(await serving(server));
  expect(said).toMatch(/answers 308, a redirect to http:\S+\/webhooks\/gateway\/\?…/);
});

/** Redirects everything to an endpoint. */
async function redirecting(status: number, location: string): Promise<string> {
  const server = http.createServer((req, res) => {
    req.resume();
    res.writeHead(status, { location }).end();
  });
  return serving(server);
}

test("doctor says what is known about redirects, and names the option that follows one", async () => {
  const said = await obstacle(await redirecting(301, await answering(200)));
  expect(said).toContain("No document says whether the gateway follows redirects.");
  expect(said).toContain("--redirects shows what that is answered");
  expect(said).not.toContain("A delivery that follows it");
});

test.each([301, 302, 303])(
  "doctor --redirects follows %i as a GET without the body, which a receiver refuses",
  async (status) => {
    const { url } = await receivingEndpoint();
    const said = await obstacle(await redirecting(status, url), "--redirects");
    expect(said).toContain(
      "A delivery that follows it arrives as a GET without a body and is answered 409 malformed: the gateway sends it again, and the next attempt ends the same way.",
    );
  },
);

test("doctor --redirects follows 308 as the same POST, which a receiver handles", async () => {
  const { url } = await receivingEndpoint();
  const said = await obstacle(await redirecting(308, url), "--redirects");
  expect(said).toContain(
    "A delivery that follows it arrives and is answered 200 handled: the gateway takes it for handled.",
  );
});

test("doctor --redirects names what a page behind a redirect loses", async () => {
  const said = await obstacle(await redirecting(302, await answering(200)), "--redirects");
  expect(said).toContain("is answered 200: the gateway takes it for handled, though it is lost.");
});

test("doctor --redirects ends at ten redirects, at no HTTP URL and at another machine", async () => {
  let own = "";
  const loop = http.createServer((req, res) => {
    req.resume();
    res.writeHead(302, { location: own }).end();
  });
  own = await serving(loop);
  expect(await obstacle(own, "--redirects")).toContain("It redirects more than 10 times.");
  const mail = await redirecting(301, "mailto:someone@example.com");
  expect(await obstacle(mail, "--redirects")).toContain("was not followed: it is no HTTP URL.");
  const other = await redirecting(301, "https://receiver.example/hooks");
  expect(await obstacle(other, "--redirects")).toContain(
    "https://receiver.example/hooks was not followed, because it is another machine: add --yes",
  );
});

test("no one at the URL is one finding of doctor", async () => {
  const url = await silentUrl();
  expect(await obstacle(url)).toMatch(/no connection to http.*ECONNREFUSED.* Start the endpoint/);
  const host = await obstacle("http://app.localhost:1/", "--timeout", "2000");
  expect(host).toContain("no connection to");
});

test("an unknown host, and a port without HTTP, are one finding of doctor each", async () => {
  const unknown = await obstacle("http://no-such-host.invalid:1/", "--yes");
  expect(unknown).toMatch(/no connection to .* No such host name is known: correct it\./);
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined).end("SSH-2.0-example\r\n");
  });
  expect(await obstacle(await serving(server))).toContain("is no HTTP server");
});

test("an endpoint that never answers is one finding of doctor", async () => {
  const server = net.createServer(() => undefined);
  const said = await obstacle(await serving(server), "--timeout", "100");
  expect(said).toContain("no answer within 100 ms");
  expect(said).toContain("--timeout waits longer");
});

test("a self-signed certificate is one finding of doctor, which names --insecure", async () => {
  const server = https.createServer(testCertificate, (req, res) => {
    req.resume().on("end", () => res.writeHead(409).end());
  });
  const url = (await serving(server)).replace("http", "https");
  const said = await obstacle(url);
  expect(said).toContain("is not trusted: self-signed certificate");
  expect(said).toContain("pass --insecure");
  const insecure = await runCommand(`doctor ${url} --insecure --only no_server_errors`);
  expect(insecure.code).toBe(0);
  // Plain HTTP to a port of TLS.
  expect(await obstacle(url.replace("https", "http"))).toContain("https://");
});

test("https to a port without TLS is one finding of doctor, which names http://", async () => {
  const url = (await answering(200)).replace("http", "https");
  const said = await obstacle(url);
  expect(said).toMatch(/^✗ 127\.0\.0\.1:\d+ does not speak TLS Begin the URL with http:\/\//);
  // Nothing of OpenSSL's own text.
  expect(said).not.toMatch(/EPROTO|SSL routines|\\n/);
});

test.each([404, 405, 500])("--handled that answers %i is one finding of doctor", async (status) => {
  const { url } = await receivingEndpoint();
  const probe = await answering(status);
  const said = await obstacle(url, "--handled", `${probe}/{id}`);
  expect(said).toContain(
    `✗ --handled answered ${String(status)}; expected 200 with a whole number`,
  );
  expect(said).toContain("Correct the URL of --handled");
});

test("--handled without an answer is one finding of doctor", async () => {
  const { url } = await receivingEndpoint();
  const said = await obstacle(url, "--handled", `${await silentUrl()}/{id}`);
  expect(said).toMatch(/--handled got no answer: .*ECONNREFUSED/);
});

test("--handled that answers 0, as behind a queue, and one behind a receiver without handlers, are left to the cases", async () => {
  const { url } = await receivingEndpoint();
  const count = await answeringEndpoint({ status: 200, body: "0" });
  const unhandled = await answeringEndpoint({ status: 200, body: '{"outcome":"unhandled"}' });
  const only = ["--only", "no_server_errors"];
  const queued = await runCommand(["doctor", url, ...only, "--handled", `${count.url}/{id}`]);
  expect(queued.code).toBe(0);
  const missing = await answering(404);
  const argv = ["doctor", unhandled.url, ...only, "--handled", `${missing}/{id}`];
  expect((await runCommand(argv)).stderr).toContain("1 case with made-up deliveries");
});

test("--json has the finding, and a path that is wrong for one type only is left to the cases", async () => {
  const { stdout } = await runCommand(`doctor ${await silentUrl()} --json`);
  expect(JSON.parse(stdout)).toMatchObject({
    obstacle: { code: "unreachable" },
    cases: [],
    passed: false,
  });
  const { url } = await answeringEndpoint({ status: 404 }, { status: 200 });
  const oneType = await runCommand(`doctor ${url} --only alarm`);
  expect(oneType.stdout).toContain("✓ a genuine alarm is acknowledged");
});

test("an endpoint that ends midway is one finding of doctor, and the cases after it are not judged", async () => {
  const junit = folder.at("stopped.xml");
  for (const format of [[], ["--json"]]) {
    const endpoint = await receivingEndpoint();
    const front = http.createServer((req, res) => {
      count += 1;
      if (count === 12) {
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
    let count = 0;
    const url = await serving(front);
    const argv = ["doctor", url, "--require-judged", "--junit", junit, ...format];
    const { code, stdout } = await runCommand(argv);
    expect(code).toBe(1);
    const xml = readFileSync(junit, "utf8");
    expect(xml).toMatch(/failures="1" errors="0"/);
    expect(xml).toContain('classname="must.preflight" name="stopped:');
    if (format.length === 0) {
      expect(stdout.match(/✗ the endpoint stopped answering during/g)).toHaveLength(1);
      expect(stdout).toContain("  This case and those after it are not judged.");
      expect(stdout).toMatch(/✗ \d+ passed, \d+ not judged\n\nleft behind:\n/);
      expect(stdout).not.toContain("HMAC");
    } else {
      const report = JSON.parse(stdout) as { cases: { id: string; result: string }[] };
      expect(report).toMatchObject({ obstacle: { code: "stopped" }, notProven: [], passed: false });
      expect(report.cases.some(({ result }) => result === "failed")).toBe(false);
      expect(report.cases.at(-1)?.result).toBe("not_judged");
      expect(report.cases[0]?.result).toBe("passed");
    }
  }
});

test("--junit writes a file however the run ends", async () => {
  const junit = folder.at("always.xml");
  const written = (): string => readFileSync(junit, "utf8");
  await runCommand(`doctor http://192.0.2.1/hook --junit ${junit}`);
  expect(written()).toMatch(/errors="1".*<error message="this would send made-up deliveries/s);
  rmSync(junit);
  const env = { GATEWAY_WEBHOOK_SECRET: undefined };
  await runCommand(`doctor http://127.0.0.1:1/ --junit ${junit}`, { env });
  expect(written()).toMatch(/<error message="no secret: set GATEWAY_WEBHOOK_SECRET/);
  rmSync(junit);
  const { url } = await receivingEndpoint();
  await runCommand(`doctor ${url} --only alarm --junit ${junit}`);
  expect(written()).toMatch(/tests="1" failures="0" errors="0" skipped="0"/);
});
