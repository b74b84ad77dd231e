import http from "node:http";
import { describe, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createGatewayTwin, replayFixtures, sampleAlarm } from "../../kit/index.js";
import { RightReceiver } from "../flawed/right-receiver.js";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, oneLine } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtures } from "../support/fixtures.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import { textReceiver } from "../support/text-receiver.js";

type Answer = readonly [status: number, text: string, type: string];

const PAGE: Answer = [200, "\uFEFF\n<!doctype html><h1>Back soon</h1>", "text/html; charset=utf-8"];
const OK: Answer = [200, "ok", "text/html"];
const JSON_OK: Answer = [201, '{"status":"ok"}', "application/json"];
const FIXTURES = String(fixtures.length);

/** A server that answers the requests in turn. The last answer repeats. */
function answering(...answers: readonly Answer[]): Promise<string> {
  const left = [...answers];
  return serving(
    http.createServer((req, res) => {
      const [status, text, type] = (left.length > 1 ? left.shift() : left[0]) ?? OK;
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

async function ourUrl(): Promise<string> {
  return (await receivingEndpoint()).url;
}

/** A receiver without this library that answers `ok` as HTML, as Express does. */
function foreignReceiver(): Promise<string> {
  const receiver = Object.assign(new RightReceiver(createLedger()), {
    done: () => [200, "ok", { "content-type": "text/html" }],
  });
  return serving(receiver.createServer());
}

/** A receiver of this library whose handler gets the texts of each record. */
function textUrl(handle: (text: string) => void): Promise<string> {
  return serving(http.createServer(nodeHandler(textReceiver(handle))));
}

describe("send", () => {
  test.each(["", " --follow-retries --speed 1000000"])(
    "fails for a maintenance page that answers 200: send%s",
    async (option) => {
      const stdout = "✗ acknowledged, by a page and not by a receiver: the gateway takes";
      await expectEnd(`send ${await answering(PAGE)}${option}`, { code: 1, stdout });
    },
  );

  test.each([OK, JSON_OK])(
    "says of the answer %j that it is not known by whom, and passes",
    async (...answer) => {
      const url = await answering(answer);
      const unknown = [
        `~ ${answer[0]}, by whom is not known\n`,
        "look whether your handler has run",
      ];
      await expectEnd(`send ${url}`, { code: 0, stdout: unknown, never: "✓" });
      const stdout = `~ acknowledged: answered ${answer[0]} at attempt 1, by whom`;
      await expectEnd(`send ${url} --follow-retries`, { code: 0, stdout });
    },
  );

  test("fails for one page among several answers", async () => {
    const handled: Answer = [200, '{"outcome":"handled"}', "application/json"];
    const url = await answering(handled, [200, "<p>", "text/html"], handled);
    const answers = ["receiver", "page", "receiver"].map((answeredBy) => ({ answeredBy }));
    await expectEnd(`send ${url} --times 3 --json`, { code: 1, json: { answers, passed: false } });
  });

  test.each(['{"error":{"code":"BLOCKED"}}', '{"outcome":"stale"}', '{"outcome":"ok"}'])(
    "takes no 2xx with an error or the outcome of a refusal for the receiver's: %s",
    async (body) => {
      const url = await answering([200, body, "application/json"]);
      await expectEnd(`send ${url}`, { stdout: "~ 200, by whom is not known" });
    },
  );
});

describe("replay", () => {
  test("counts no answer of a maintenance page as expected", async () => {
    const none = `✗ 0 as expected, ${FIXTURES} different`;
    const stdout = [none, `${FIXTURES}  200, by a page and not by a receiver`];
    await expectEnd(`replay fixtures --to ${await answering(PAGE)}`, { code: 1, stdout });
  });

  test("marks what a foreign receiver acknowledges, and passes", async () => {
    const stdout = [
      /^~ \d+ as expected, \d+ of them answered 2xx, by whom is not known$/m,
      /^~ {2}alarm-email-hacked/m,
      /^✓ {2}hostile\/stale +409/m,
    ];
    await expectEnd(`replay fixtures --to ${await foreignReceiver()}`, { code: 0, stdout });
  });

  test("says that a fixture that expects nothing is different too when a page answers it", async () => {
    const unjudged = { ...fixtures[0], expect: undefined } as never;
    const { results } = await replayFixtures(await answering(PAGE), [unjudged]);
    expect(results).toMatchObject([{ result: "different", answeredBy: "page" }]);
  });
});

test.each([
  ["receiver", "", () => Promise.resolve(textReceiver(() => undefined))],
  ["unknown", ", by whom is not known", () => answering(OK)],
  ["page", ", by a page and not by a receiver", () => answering(PAGE)],
] as const)(
  "the twin says that a delivery was acknowledged by: %s",
  async (answeredBy, words, start) => {
    const twin = createGatewayTwin({ target: await start(), secret: TEST_SECRET });
    const delivery = await twin.deliver({ alarm: sampleAlarm() });
    await twin.close();
    const reason = `answered 200 at attempt 1${words}`;
    expect(delivery).toMatchObject({ end: "acknowledged", reason, attempts: [{ answeredBy }] });
  },
);

describe("doctor", () => {
  const NAMES = "where the answer to a plain delivery names";

  test.each<[string, () => Promise<string>, Answer, string]>([
    ["a page in front of ours", ourUrl, PAGE, `an HTML page, ${NAMES}`],
    ["a short text in front of ours", ourUrl, OK, `no outcome, ${NAMES}`],
    [
      "a page in front of a foreign one",
      foreignReceiver,
      PAGE,
      "an HTML page, where the answer to",
    ],
  ])("convicts a firewall that rejects with 2xx: %s", async (_, upstream, answer, reason) => {
    const url = await firewall(await upstream(), answer);
    const fix = "fix Let nothing in front of the receiver answer 2xx in its place";
    const { stdout } = await expectEnd(`doctor ${url} --only alarm --only hostile_text`, {
      code: 1,
      stdout: [fix, "1 passed, 1 failed that must pass"],
    });
    // Of the alarm and the event, whichever is answered last.
    expect(oneLine(stdout).replace(" in an event: ", ": ")).toContain(
      `onerror=alert(1)": a 2xx that your receiver did not give: ${answer[0]} with ${reason}`,
    );
  });

  test("only remarks on another 2xx of what may be a foreign receiver", async () => {
    const url = await firewall(await foreignReceiver(), OK);
    const stdout = [
      "a 2xx with other headers ! server: firewall, and none for a plain delivery (hostile_text)",
      "– who answered 2xx: an answer names no outcome of this library",
    ];
    await expectEnd(`doctor ${url} --only alarm --only hostile_text`, { code: 0, stdout });
  });

  test("lists each record that the handler fails to take twice", async () => {
    const url = await textUrl((text) => {
      if (/[\0\p{Surrogate}]/u.test(text)) throw new Error("invalid byte sequence");
    });
    const stdout =
      /cannot be taken ! the text "a\\+u0000b": failed when it was sent again ! the site_name "a\\+u0000b": .* ! the text "\\+ud83d": .* ! the site_name "\\+ud83d": .* ! Your handler cannot take these records: after ten attempts the gateway gives them up/;
    await expectEnd(`doctor ${url} --only odd_values`, { code: 0, stdout });
    const untaken = Array(4).fill(expect.any(String)) as string[];
    await expectEnd(`doctor ${url} --only odd_values --json`, { json: { untaken } });
  });

  test("does not list a record that the handler takes at the second attempt", async () => {
    const failed = new Set<string>();
    const url = await textUrl((text) => {
      if (!text.includes("\0") || failed.has(text)) return;
      failed.add(text);
      throw new Error("the database is down");
    });
    await expectEnd(`doctor ${url} --only odd_values`, { never: "cannot be taken" });
    expect(failed.size).toBe(1);
  });
});
