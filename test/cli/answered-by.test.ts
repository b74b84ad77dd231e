import http from "node:http";
import { expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createGatewayTwin, replayFixtures, sampleAlarm } from "../../kit/index.js";
import { RightReceiver } from "../flawed/right-receiver.js";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtures } from "../support/fixtures.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import { textReceiver } from "../support/text-receiver.js";

type Answer = readonly [status: number, text: string, type: string];

const PAGE: Answer = [200, "\uFEFF\n<!doctype html><h1>Back soon</h1>", "text/html; charset=utf-8"];
const OK: Answer = [200, "ok", "text/html"];
const JSON_OK: Answer = [201, '{"status":"ok"}', "application/json"];

/** A server that gives each request the same answer. */
function answering([status, text, type]: Answer): Promise<string> {
  return serving(
    http.createServer((req, res) => {
      req.resume().on("end", () => res.writeHead(status, { "content-type": type }).end(text));
    }),
  );
}

/** A firewall in front of a URL. What it takes for an attack it answers in the place of the receiver. */
function firewall(upstream: string, [status, text, type]: Answer): Promise<string> {
  return serving(
    http.createServer((req, res) => {
      const pieces: Buffer[] = [];
      req.on("data", (piece: Buffer) => pieces.push(piece));
      req.on("end", () => {
        const body = Buffer.concat(pieces);
        if (body.includes("javascript:")) {
          res.writeHead(status, { "content-type": type, server: "firewall" }).end(text);
          return;
        }
        const { method, headers } = req;
        const passed = http.request(upstream, { method, headers }, (answer) => {
          res.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(res);
        });
        passed.end(body);
      });
    }),
  );
}

/** A receiver without this library that answers `ok` as HTML, as Express does. */
function foreignReceiver(): Promise<string> {
  const receiver = Object.assign(new RightReceiver(createLedger()), {
    done: () => [200, "ok", { "content-type": "text/html" }],
  });
  return serving(receiver.createServer());
}

test.each(["", " --follow-retries --speed 1000000"])(
  "send%s fails for a maintenance page that answers 200",
  async (option) => {
    await expectEnd(`send ${await answering(PAGE)}${option}`, {
      code: 1,
      stdout: "✗ acknowledged, by a page and not by a receiver: the gateway takes",
    });
  },
);

test.each([OK, JSON_OK])(
  "send says of the answer %j that it is not known by whom, and passes",
  async (...answer) => {
    const url = await answering(answer);
    const { code, stdout } = await expectEnd(`send ${url}`, {
      code: 0,
      stdout: [`~ ${answer[0]}, by whom is not known\n`, "look whether your handler has run"],
      never: "✓",
    });
    await expectEnd(`send ${url} --follow-retries`, {
      code: 0,
      stdout: `~ acknowledged: answered ${answer[0]} at attempt 1, by whom`,
    });
  },
);

test("one page among several answers is enough for send to fail", async () => {
  let requests = 0;
  const url = await serving(
    http.createServer((req, res) => {
      requests += 1;
      const isPage = requests === 2;
      res.setHeader("content-type", isPage ? "text/html" : "application/json");
      req.resume().on("end", () => res.end(isPage ? "<p>" : '{"outcome":"handled"}'));
    }),
  );
  await expectEnd(`send ${url} --times 3 --json`, {
    code: 1,
    json: {
      answers: [{ answeredBy: "receiver" }, { answeredBy: "page" }, { answeredBy: "receiver" }],
      passed: false,
    },
  });
});

test("a 2xx whose body has an error or the outcome of a refusal is not the receiver's", async () => {
  for (const body of ['{"error":{"code":"BLOCKED"}}', '{"outcome":"stale"}', '{"outcome":"ok"}']) {
    await expectEnd(`send ${await answering([200, body, "application/json"])}`, {
      stdout: "~ 200, by whom is not known",
    });
  }
});

test("send and replay have seen the mark of our receiver", async () => {
  const { url } = await receivingEndpoint();
  await expectEnd(`send ${url}`, { stdout: "✓ acknowledged\n" });
  await expectEnd(`replay fixtures --to ${url}`, {
    stdout: `✓ ${fixtures.length} as expected\n`,
    never: "~",
  });
});

test("replay counts no answer of a maintenance page as expected", async () => {
  await expectEnd(`replay fixtures --to ${await answering(PAGE)}`, {
    code: 1,
    stdout: [
      `✗ 0 as expected, ${fixtures.length} different`,
      `${fixtures.length}  200, by a page and not by a receiver`,
    ],
  });
});

test("replay marks what a foreign receiver acknowledges, and passes", async () => {
  await expectEnd(`replay fixtures --to ${await foreignReceiver()}`, {
    code: 0,
    stdout: [
      /^~ \d+ as expected, \d+ of them answered 2xx, by whom is not known$/m,
      /^~ {2}alarm-email-hacked/m,
      /^✓ {2}hostile\/stale +409/m,
    ],
  });
});

test("a fixture that expects nothing is different too when a page answers it", async () => {
  const [fixture] = fixtures;
  if (fixture === undefined) throw new Error("there is no fixture");
  const { results } = await replayFixtures(await answering(PAGE), [
    { ...fixture, expect: undefined } as never,
  ]);
  expect(results).toMatchObject([{ result: "different", answeredBy: "page" }]);
});

test("the twin says by whom a delivery was acknowledged", async () => {
  const receiver = textReceiver(() => undefined);
  const targets = [receiver, await answering(OK), await answering(PAGE)];
  const reasons = targets.map(async (target) => {
    const twin = createGatewayTwin({ target, secret: TEST_SECRET });
    const { end, reason, attempts } = await twin.deliver({ alarm: sampleAlarm() });
    await twin.close();
    return [end, reason, attempts[0]?.answeredBy];
  });
  const at = "answered 200 at attempt 1";
  expect(await Promise.all(reasons)).toEqual([
    ["acknowledged", at, "receiver"],
    ["acknowledged", `${at}, by whom is not known`, "unknown"],
    ["acknowledged", `${at}, by a page and not by a receiver`, "page"],
  ]);
});

test.each<[string, () => Promise<string>, Answer, string]>([
  [
    "a page in front of ours",
    ourUrl,
    PAGE,
    "an HTML page, where the answer to a plain delivery names",
  ],
  [
    "a short text in front of ours",
    ourUrl,
    OK,
    "no outcome, where the answer to a plain delivery names",
  ],
  [
    "JSON in front of ours",
    ourUrl,
    JSON_OK,
    "no outcome, where the answer to a plain delivery names",
  ],
  [
    "a page in front of a foreign receiver",
    foreignReceiver,
    PAGE,
    "an HTML page, where the answer to",
  ],
])("doctor convicts a firewall that rejects with 2xx: %s", async (_, upstream, answer, reason) => {
  const url = await firewall(await upstream(), answer);
  const { code, stdout } = await runCommand(`doctor ${url} --only alarm --only hostile_text`);
  const text = stdout.replaceAll(/\s+/g, " ");
  // Of the alarm and the event, whichever is answered last.
  expect(text.replace(" in an event: ", ": ")).toContain(
    `onerror=alert(1)": a 2xx that your receiver did not give: ${answer[0]} with ${reason}`,
  );
  expect(text).toContain("fix Let nothing in front of the receiver answer 2xx in its place");
  expect(text).toContain("1 passed, 1 failed that must pass");
  expect(code).toBe(1);
});

test("doctor only remarks on another 2xx of what may be a foreign receiver", async () => {
  const url = await firewall(await foreignReceiver(), OK);
  const { code, stdout } = await runCommand(`doctor ${url} --only alarm --only hostile_text`);
  const text = stdout.replaceAll(/\s+/g, " ");
  expect(text).toContain(
    "a 2xx with other headers ! server: firewall, and none for a plain delivery (hostile_text)",
  );
  expect(text).toContain("– who answered 2xx: an answer names no outcome of this library");
  expect(code).toBe(0);
});

test("doctor says nothing of who answered when it has seen the mark of our receiver", async () => {
  await expectEnd(`doctor ${await ourUrl()}`, {
    stdout: /^✓ \d+ passed/m,
    never: /who answered|other headers|cannot be taken/,
  });
});

async function ourUrl(): Promise<string> {
  return (await receivingEndpoint()).url;
}

test("doctor lists each record that the handler fails to take twice", async () => {
  const receiver = textReceiver((text) => {
    if (/[\0\p{Surrogate}]/u.test(text)) throw new Error("invalid byte sequence");
  });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const { code, stdout } = await runCommand(`doctor ${url} --only odd_values`);
  const [, list = ""] = stdout.split("cannot be taken");
  expect(list.replaceAll(/\s+/g, " ")).toMatch(
    /^ ! the text "a\\+u0000b": failed when it was sent again ! the site_name "a\\+u0000b": .* ! the text "\\+ud83d": .* ! the site_name "\\+ud83d": .* ! Your handler cannot take these records: after ten attempts the gateway gives them up/,
  );
  expect(code).toBe(0);
  const { untaken } = JSON.parse(
    (await runCommand(`doctor ${url} --only odd_values --json`)).stdout,
  ) as { untaken: string[] };
  expect(untaken).toHaveLength(4);
});

test("a record that the handler takes at the second attempt is not listed", async () => {
  const failed = new Set<string>();
  const receiver = textReceiver((text) => {
    if (!text.includes("\0") || failed.has(text)) return;
    failed.add(text);
    throw new Error("the database is down");
  });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const { stdout } = await runCommand(`doctor ${url} --only odd_values`);
  expect(failed.size).toBe(1);
  expect(stdout).not.toContain("cannot be taken");
});
