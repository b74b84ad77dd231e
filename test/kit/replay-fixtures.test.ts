import http from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { ConfigurationError, memoryStore, verifySignature } from "../../src/index.js";
import type { Fixture } from "../../kit/fixtures/fixture.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { replayFixtures, type ReplayOptions } from "../../kit/fixtures/replay-fixtures.js";
import type { ReplayReport, ReplayResult } from "../../kit/fixtures/replay-report.js";
import { resignedHeaders } from "../../kit/fixtures/resign.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { fixturesFolder } from "../support/fixtures.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { listen, type RunningServer } from "../support/servers.js";

const fixtures = await loadFixtures(fixturesFolder);
const secret = "whsec_of_another_endpoint";

/** The fixtures with another answer than expected, readable in a failed assertion. */
function differencesIn({ results }: ReplayReport): string[] {
  return results
    .filter(({ result }) => result !== "as_expected")
    .map(({ name, status, outcome, error }) => [name, status, outcome, error].join(" "));
}

it("published fixtures are answered as expected if they are signed again for now with another secret", async () => {
  const { receiver } = recordingReceiver({ secret, now: Date.now, store: memoryStore() });
  const report = await replayFixtures(fetchHandler(receiver), fixtures, { secret, resign: true });
  expect(differencesIn(report)).toEqual([]);
  expect(report).toMatchObject({ asExpected: 52, different: 0, notJudged: 0 });
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
        res.end();
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
});

const SENT_MS = 1_783_504_805_000;

/** A fixture of a delivery that was sent at `SENT_MS`. */
async function fixture(
  name: string,
  expected?: Fixture["expect"],
  body: string | Uint8Array = JSON.stringify({ alarm: sampleAlarm() }),
  ageMs = 0,
): Promise<Fixture> {
  const given = { type: "new_alarm", body: Buffer.from(body), timestamp: SENT_MS / 1_000 };
  const { headers } = await signedDelivery({ ...given, secret: TEST_SECRET });
  return {
    name,
    description: `What ${name} is`,
    receivedAt: new Date(SENT_MS + ageMs),
    ...(expected === undefined ? {} : { expect: expected }),
    headers,
    body: given.body,
  };
}

const answering = (status: number, body: string) => () => new Response(body, { status });

/** The result of a fixture with this expectation that gets this answer. */
async function resultOf(expected: Fixture["expect"], status: number, body: string) {
  const { results } = await replayFixtures(answering(status, body), [await fixture("a", expected)]);
  return results[0];
}

const HANDLED = '{"outcome":"handled"}';
const STALE = '{"error":{"code":"STALE","message":"."}}';
const MISMATCH = '{"error":{"code":"SIGNATURE_MISMATCH"}}';

const HANDLED_200 = { status: 200, outcome: "handled" };
const STALE_409 = { status: 409, outcome: "stale" };
const UNRECOGNIZED_503 = { status: 503, outcome: "unrecognized" };
const OR_AGAIN = { ...HANDLED_200, orSentAgain: true };

it.each<[Fixture["expect"], number, string, ReplayResult["result"], reason?: string]>([
  [HANDLED_200, 200, HANDLED, "as_expected"],
  [{ status: 200, outcome: "discarded" }, 200, HANDLED, "different"],
  [STALE_409, 409, STALE, "as_expected"],
  [{ status: 409, outcome: "malformed" }, 409, STALE, "different"],
  [HANDLED_200, 200, "", "as_expected"],
  [HANDLED_200, 200, '{"outcome":"toString"}', "as_expected"],
  [undefined, 500, STALE, "not_judged"],
  [HANDLED_200, 200, '{"outcome":"unhandled"}', "different", "no handler for new_alarm"],
  [HANDLED_200, 200, '{"outcome":"duplicate"}', "different", "already handled this id"],
  [HANDLED_200, 409, STALE, "different", "the receiver's clock"],
  [{ status: 200 }, 409, MISMATCH, "different", "another secret"],
  // Another receiver: what the gateway does after the answer.
  [HANDLED_200, 202, "", "as_expected"],
  [HANDLED_200, 503, "", "different"],
  [OR_AGAIN, 503, "", "as_expected"],
  [OR_AGAIN, 422, "", "different", "after 422 the gateway gives up for good"],
  [OR_AGAIN, 409, STALE, "different", "the receiver's clock"],
  [UNRECOGNIZED_503, 200, "", "as_expected"],
  [UNRECOGNIZED_503, 409, "", "as_expected"],
  [UNRECOGNIZED_503, 409, STALE, "different"],
  [UNRECOGNIZED_503, 400, "", "different", "after 400 the gateway gives up for good"],
  [STALE_409, 503, "", "as_expected"],
  [STALE_409, 200, "", "different", "acknowledged, although it must be refused"],
  [STALE_409, 401, "", "different", "after 401 the gateway gives up for good"],
  [STALE_409, 302, "", "different", "contract does not mention 302"],
  [{ status: 200 }, 202, "", "different"],
])(
  "a fixture that expects %o and is answered %i %s is %s, with the reason %s",
  async (expected, status, body, judged, reason) => {
    const result = await resultOf(expected, status, body);
    expect(result?.result).toBe(judged);
    if (reason === undefined) expect(result).not.toHaveProperty("reason");
    else expect(result?.reason).toContain(reason);
  },
);

it("a replay result contains everything known about the fixture and nothing else", async () => {
  const fixtures = [
    await fixture("judged", { status: 200, outcome: "handled" }),
    await fixture("recorded"),
  ];
  const { results } = await replayFixtures(answering(503, "no JSON"), fixtures);
  const ms = expect.any(Number) as unknown;
  expect(results).toStrictEqual([
    {
      name: "judged",
      description: "What judged is",
      expected: { status: 200, outcome: "handled" },
      status: 503,
      ms,
      result: "different",
    },
    { name: "recorded", description: "What recorded is", status: 503, ms, result: "not_judged" },
  ]);
  expect(results.every((result) => result.ms >= 0)).toBe(true);
});

it("replay results are reported one by one in fixture order and counted", async () => {
  const order: string[] = [];
  const shown: ReplayResult[] = [];
  const target = ({ headers }: Request) => {
    order.push(`send ${headers.get("x-webhook-id") ?? ""}`);
    return new Response(null, { status: 204 });
  };
  const fixtures = [
    await fixture("one", { status: 204 }),
    await fixture("two"),
    await fixture("three", { status: 200 }),
    await fixture("four", { status: 200 }),
  ];
  const ids = fixtures.map(({ headers }) => String(headers["X-Webhook-Id"]));
  const report = await replayFixtures(target, fixtures, {
    beforeEach: async ({ name }) => {
      await Promise.resolve();
      order.push(`before ${name}`);
    },
    onResult: (result) => {
      order.push(`result ${result.name}`);
      shown.push(result);
    },
  });
  const steps = (name: string, id = "") => [`before ${name}`, `send ${id}`, `result ${name}`];
  expect(order).toEqual(fixtures.flatMap(({ name }, at) => steps(name, ids[at])));
  expect(report.results).toEqual(shown);
  expect(report).toMatchObject({ asExpected: 1, different: 2, notJudged: 1 });
});

const twoFixtures = async () => [
  await fixture("judged", { status: 200 }),
  await fixture("recorded"),
];
const resultsAndErrors = ({ results }: { results: readonly ReplayResult[] }) =>
  results.map(({ result, error }) => [result, error]);

it.each<[reason: string, error: unknown]>([
  ["::1 refused", new AggregateError([new Error("::1 refused"), new Error("another")])],
  ["no reason is given", new AggregateError([])],
  ["no reason is given", "a text"],
])("a target that rejects gives a result with the reason: %s", async (reason, error) => {
  const target = () => Promise.reject<Response>(error);
  const [result] = (await replayFixtures(target, await twoFixtures())).results;
  expect(result?.error).toBe(`the request failed: ${reason}`);
});

it("a target that never answers gives a result with a time-out", async () => {
  const target = () => new Promise<Response>(() => undefined);
  const report = await replayFixtures(target, await twoFixtures(), { timeoutMs: 20 });
  expect(resultsAndErrors(report)).toEqual([
    ["different", "no answer within 20 ms"],
    ["not_judged", "no answer within 20 ms"],
  ]);
});

it("a fixture that HTTP cannot send gives a result too", async () => {
  const [whole] = await twoFixtures();
  if (whole === undefined) throw new Error("there is no fixture");
  const broken = { ...whole, headers: { ...whole.headers, "X-Odd": "a\nb" } };
  const report = await replayFixtures(answering(200, ""), [broken, whole]);
  expect(report.results.map(({ result }) => result)).toEqual(["different", "as_expected"]);
});

const target = alarmReceiver(() => undefined);

it.each<[string, object]>([
  ["a misspelt option", { resing: true }],
  ["resign without a secret", { resign: true }],
  ["resign with a secret that cannot be one", { resign: true, secret: " " }],
  ["fixtures whose secret cannot be one", { resign: true, secret: "s", fixtureSecret: "" }],
  ["fresh ids without resign", { secret: TEST_SECRET, freshIds: true }],
  ["a clock that is not a function", { resign: true, secret: "s", now: 0 }],
  ["an onResult that is not a function", { onResult: [] }],
  ["a time-out of 0", { timeoutMs: 0 }],
])("replayFixtures rejects for %s", async (_, options) => {
  await expect(replayFixtures(target, [], options)).rejects.toThrow(ConfigurationError);
});

it.each<(error: Error) => ReplayOptions>([
  (error) => ({ beforeEach: () => Promise.reject(error) }),
  (error) => ({
    onResult: () => {
      throw error;
    },
  }),
])("replayFixtures rejects with the error of the test's own callback (%#)", async (optionsOf) => {
  const error = new Error("the test is broken");
  const one = [await fixture("a")];
  await expect(replayFixtures(target, one, optionsOf(error))).rejects.toBe(error);
});

const idFor = (id: string) => id;
const resigning = (nowMs: number) => {
  return { secret, fixtureSecret: TEST_SECRET, now: () => nowMs, idFor };
};

const agesMs = fc.integer({ min: -1_000_000, max: 1_000_000 });
const times = fc.integer({ min: 2_000_000, max: 4_000_000_000_000 });

it("a resigned fixture has a valid signature of the new secret and its old age to the second", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), agesMs, times, async (body, ageMs, nowMs) => {
      const one = await fixture("a", undefined, body, ageMs);
      const headers = await resignedHeaders(one, resigning(nowMs));
      expect(await verifySignature({ secret, headers, body })).toBe(true);
      const newAgeMs = nowMs - 1000 * Number(headers["X-Webhook-Timestamp"]);
      expect(Math.abs(newAgeMs - ageMs)).toBeLessThan(1000);
      // Rounded towards now, and not beyond it.
      expect(Math.abs(newAgeMs)).toBeLessThanOrEqual(Math.max(Math.abs(ageMs), 999));
      if (ageMs >= 0) expect(newAgeMs).toBeGreaterThanOrEqual(0);
      else expect(newAgeMs).toBeLessThanOrEqual(999);
      const signed = { "X-Webhook-Timestamp": "", "X-Webhook-Signature": "" };
      expect({ ...headers, ...signed }).toEqual({ ...one.headers, ...signed });
    }),
  );
});

it("a resigned fixture keeps its header names, their order and the case of the hexadecimal digits", async () => {
  const body = Uint8Array.of(1, 2, 3);
  const one = await fixture("a", undefined, body, 0);
  const shouted = Object.fromEntries(
    Object.entries(one.headers).map(([name, value]) => [
      name.toUpperCase(),
      name === "X-Webhook-Signature" ? `v1=${String(value).slice(3).toUpperCase()}` : value,
    ]),
  );
  const headers = await resignedHeaders({ ...one, headers: shouted }, resigning(SENT_MS));
  expect(Object.keys(headers)).toEqual(Object.keys(shouted));
  expect(headers["X-WEBHOOK-SIGNATURE"]).toMatch(/^v1=[0-9A-F]{64}$/);
  expect(await verifySignature({ secret, headers, body })).toBe(true);
});

it("a resigned fixture has a valid timestamp, however far from now it was signed", async () => {
  const body = Uint8Array.of(1);
  for (const [ageMs, expected] of [
    [8e15, "0"],
    [-8e15, "999999999999"],
  ] as const) {
    const one = await fixture("a", undefined, body, ageMs);
    const headers = await resignedHeaders(one, resigning(SENT_MS));
    expect(headers["X-Webhook-Timestamp"]).toBe(expected);
    expect(await verifySignature({ secret, headers, body })).toBe(true);
  }
});

const refused = ["malformed", "unsigned", "signature_mismatch"];

it.each(fixtures.filter(({ expect: { outcome = "" } = {} }) => refused.includes(outcome)))(
  "a fixture without a valid signature is sent unchanged: $name",
  async (one) => {
    expect(await resignedHeaders(one, resigning(SENT_MS))).toEqual(one.headers);
  },
);
