import http from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { nodeHandler } from "../../adapters/node.js";
import { memoryStore, type WebhookReceiver } from "../../src/index.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import type { ReplayReport } from "../../kit/fixtures/replay-report.js";
import type { WebhookTarget } from "../../kit/sending/target.js";
import { TEST_SECRET } from "../../kit/signed-delivery.js";
import { fixturesFolder } from "../support/fixtures.js";
import { listen, type RunningServer } from "../support/servers.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const fixtures = await loadFixtures(fixturesFolder);
const ALL_AS_EXPECTED = { asExpected: 52, different: 0, notJudged: 0 };

/** A receiver as the fixtures expect it. Uses the real clock until setClock is called. */
function createTarget(secret = TEST_SECRET) {
  let nowMs: number | undefined;
  const now = () => nowMs ?? Date.now();
  const { receiver } = recordingReceiver({ secret, now, store: memoryStore() });
  return {
    receiver,
    setClock: ({ receivedAt }: { receivedAt: Date }) => {
      nowMs = receivedAt.getTime();
    },
  };
}

/** The fixtures with another answer than expected, readable in a failed assertion. */
function differencesIn({ results }: ReplayReport): string[] {
  return results
    .filter(({ result }) => result !== "as_expected")
    .map(({ name, status, outcome, error }) => [name, status, outcome, error].join(" "));
}

/** The three kinds of target, each with one receiver. */
const KINDS: readonly {
  readonly kind: string;
  readonly open: (
    receiver: WebhookReceiver,
  ) => Promise<{ target: WebhookTarget; close?: () => unknown }>;
}[] = [
  { kind: "a receiver", open: (receiver) => Promise.resolve({ target: receiver }) },
  {
    kind: "a fetch function",
    open: (receiver) => Promise.resolve({ target: fetchHandler(receiver) }),
  },
  {
    kind: "a server",
    open: async (receiver) => {
      const { port, close } = await listen(http.createServer(nodeHandler(receiver)));
      return { target: new URL(`http://127.0.0.1:${String(port)}/webhooks`), close };
    },
  },
];

describe.each(KINDS)("replay against $kind", ({ open }) => {
  it("published fixtures are answered as expected if they are sent as recorded", async () => {
    const { receiver, setClock } = createTarget();
    const { target, close } = await open(receiver);
    const report = await replayFixtures(target, fixtures, { beforeEach: setClock });
    expect(differencesIn(report)).toEqual([]);
    expect(report).toMatchObject(ALL_AS_EXPECTED);
    await close?.();
  });

  it("published fixtures are answered as expected if they are signed again for now with another secret", async () => {
    const secret = "whsec_of_another_endpoint";
    const { receiver } = createTarget(secret);
    const { target, close } = await open(receiver);
    const report = await replayFixtures(target, fixtures, { secret, resign: true });
    expect(differencesIn(report)).toEqual([]);
    expect(report).toMatchObject(ALL_AS_EXPECTED);
    await close?.();
  });

  it("published fixtures are stale if neither the clock is set nor they are signed again", async () => {
    const { target, close } = await open(createTarget().receiver);
    const { results } = await replayFixtures(target, fixtures);
    const handled = results.filter(({ expected }) => expected?.outcome === "handled");
    expect(new Set(handled.map(({ outcome }) => outcome))).toEqual(new Set(["stale"]));
    await close?.();
  });

  it("published fixtures are duplicates when they are replayed again, unless freshIds is set", async () => {
    const { receiver } = createTarget();
    const { target, close } = await open(receiver);
    const again = (freshIds: boolean) =>
      replayFixtures(target, fixtures, { secret: TEST_SECRET, resign: true, freshIds });
    expect(await again(false)).toMatchObject(ALL_AS_EXPECTED);
    const { results } = await again(false);
    const repeated = results.filter(({ result }) => result === "different");
    expect(repeated.map(({ name }) => name)).toEqual(
      fixtures
        .filter(({ expect: { outcome } = {} }) => outcome === "handled")
        .map(({ name }) => name),
    );
    expect(new Set(repeated.map(({ outcome }) => outcome))).toEqual(new Set(["duplicate"]));
    for (let run = 0; run < 2; run++) expect(differencesIn(await again(true))).toEqual([]);
    await close?.();
  });
});

describe("sent requests", () => {
  let server: RunningServer;
  const requests: { lines: [string, string][]; body: Buffer; url: string | undefined }[] = [];

  beforeAll(async () => {
    const recording = http.createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => chunks.push(chunk));
      req.on("end", () => {
        const lines = req.rawHeaders.flatMap((name, at): [string, string][] =>
          at % 2 === 0 ? [[name, req.rawHeaders[at + 1] ?? ""]] : [],
        );
        requests.push({ lines, body: Buffer.concat(chunks), url: req.url });
        res.statusCode = 409;
        res.end('{"error":{"code":"CONFLICT","message":"another make"}}');
      });
    });
    server = await listen(recording);
  });

  afterAll(async () => {
    await server.close();
  });

  it("replayFixtures sends every header line and every byte to the given path", async () => {
    await replayFixtures(`http://127.0.0.1:${String(server.port)}/gateway?a=1`, fixtures);
    const sent = requests.splice(0);
    expect(sent).toHaveLength(52);
    for (const [at, { headers, body }] of fixtures.entries()) {
      const recorded = Object.entries(headers).flatMap(([name, value]) =>
        [value].flat().map((one) => [name, one]),
      );
      const { lines = [], url, body: received } = sent[at] ?? {};
      const names = new Set(recorded.map(([name]) => name));
      expect(lines.filter(([name]) => names.has(name))).toEqual(recorded);
      expect([url, received?.equals(body)]).toEqual(["/gateway?a=1", true]);
    }
  });

  it("replayFixtures leaves out headers of the recorded connection", async () => {
    const [fixture] = fixtures;
    if (fixture === undefined) throw new Error("there is no fixture");
    const headers = {
      ...fixture.headers,
      Host: "recorded.example",
      "content-length": "7",
      "Transfer-Encoding": "chunked",
      Connection: "close",
      "X-Forwarded-For": "192.0.2.1",
    };
    const { port } = server;
    await replayFixtures(`http://127.0.0.1:${String(port)}/`, [{ ...fixture, headers }]);
    const [sent] = requests.splice(0);
    const received = new Map(sent?.lines.map(([name, value]) => [name.toLowerCase(), value]));
    expect(received.get("host")).toBe(`127.0.0.1:${String(port)}`);
    expect(received.get("content-length")).toBe(String(fixture.body.length));
    expect(received.has("transfer-encoding")).toBe(false);
    expect(received.get("x-forwarded-for")).toBe("192.0.2.1");
    expect(sent?.body.equals(fixture.body)).toBe(true);
  });

  it("the answer of another receiver is compared by what the gateway does after it", async () => {
    // It refuses everything with 409, and names no outcome.
    const report = await replayFixtures(`http://127.0.0.1:${String(server.port)}/`, fixtures);
    requests.splice(0);
    for (const { name, expected, status, outcome, result } of report.results) {
      expect([status, outcome]).toEqual([409, undefined]);
      const isRight = expected?.status !== 200 || expected.orSentAgain === true;
      expect([name, result]).toEqual([name, isRight ? "as_expected" : "different"]);
    }
  });
});
