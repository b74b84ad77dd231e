import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import type { Fixture } from "../../kit/fixtures/fixture.js";
import { replayFixtures, type ReplayOptions } from "../../kit/fixtures/replay-fixtures.js";
import type { ReplayResult } from "../../kit/fixtures/replay-report.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";
import { freePort } from "../support/free-port.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const timestamp = 1_783_504_805;

async function fixture(name: string, expected?: Fixture["expect"]): Promise<Fixture> {
  const { headers, body } = await signedDelivery({
    alarm: sampleAlarm(),
    secret: TEST_SECRET,
    timestamp,
  });
  return {
    name,
    description: `What ${name} is`,
    receivedAt: new Date(timestamp * 1000),
    ...(expected === undefined ? {} : { expect: expected }),
    headers,
    body: Buffer.from(body),
  };
}

const answering = (status: number, body: string) => () => new Response(body, { status });

/** The result of a fixture with this expectation that gets this answer. */
async function resultOf(expected: Fixture["expect"], status: number, body: string) {
  const { results } = await replayFixtures(answering(status, body), [await fixture("a", expected)]);
  return results[0]?.result;
}

describe("results", () => {
  const HANDLED = '{"outcome":"handled"}';
  const STALE = '{"error":{"code":"STALE","message":"."}}';

  it.each([
    [{ status: 200, outcome: "handled" }, 200, HANDLED, "as_expected"],
    [{ status: 200, outcome: "discarded" }, 200, HANDLED, "different"],
    [{ status: 200, outcome: "handled" }, 201, HANDLED, "different"],
    [{ status: 200 }, 200, HANDLED, "as_expected"],
    [{ status: 409 }, 409, STALE, "as_expected"],
    [{ status: 409, outcome: "stale" }, 409, STALE, "as_expected"],
    [{ status: 409, outcome: "malformed" }, 409, STALE, "different"],
    [{ status: 200, outcome: "handled" }, 200, "", "as_expected"],
    [{ status: 200, outcome: "handled" }, 200, "<html>", "as_expected"],
    [{ status: 200, outcome: "handled" }, 200, '{"outcome":"toString"}', "as_expected"],
    [undefined, 500, STALE, "not_judged"],
    // Another receiver: what the gateway does after the answer.
    [{ status: 200, outcome: "handled" }, 202, "", "as_expected"],
    [{ status: 200, outcome: "handled" }, 503, "", "different"],
    [{ status: 200, outcome: "handled", orSentAgain: true }, 503, "", "as_expected"],
    [{ status: 200, outcome: "handled", orSentAgain: true }, 422, "", "different"],
    [{ status: 200, outcome: "handled", orSentAgain: true }, 409, STALE, "different"],
    [{ status: 503, outcome: "unrecognized" }, 200, "", "as_expected"],
    [{ status: 503, outcome: "unrecognized" }, 409, "", "as_expected"],
    [{ status: 503, outcome: "unrecognized" }, 400, "", "different"],
    [{ status: 409, outcome: "stale" }, 503, "", "as_expected"],
    [{ status: 409, outcome: "stale" }, 200, "", "different"],
    [{ status: 409, outcome: "stale" }, 401, "", "different"],
    [{ status: 200 }, 202, "", "different"],
  ])(
    "a fixture that expects %o and is answered %i %s is %s",
    async (expected, status, body, result) => {
      expect(await resultOf(expected, status, body)).toBe(result);
    },
  );

  it.each([
    [
      { status: 200, outcome: "handled" },
      200,
      '{"outcome":"unhandled"}',
      "no handler for new_alarm",
    ],
    [
      { status: 200, outcome: "handled" },
      200,
      '{"outcome":"duplicate"}',
      "already handled this id",
    ],
    [{ status: 200, outcome: "handled" }, 409, STALE, "the receiver's clock"],
    [{ status: 200 }, 409, '{"error":{"code":"SIGNATURE_MISMATCH"}}', "another secret"],
    [{ status: 409, outcome: "stale" }, 401, "", "after 401 the gateway gives up for good"],
    [{ status: 409, outcome: "stale" }, 302, "", "contract does not mention 302"],
    [{ status: 409, outcome: "stale" }, 202, "", "acknowledged, although it must be refused"],
    [{ status: 503, outcome: "unrecognized" }, 409, STALE, undefined],
    [{ status: 200, outcome: "handled" }, 503, "", undefined],
    [{ status: 200, outcome: "handled" }, 200, HANDLED, undefined],
  ])("a fixture that expects %o and is answered %i %s has the reason %s", async (...row) => {
    const [expected, status, body, reason] = row;
    const { results } = await replayFixtures(answering(status, body), [
      await fixture("a", expected),
    ]);
    if (reason === undefined) expect(results[0]).not.toHaveProperty("reason");
    else expect(results[0]?.reason).toContain(reason);
  });

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
    expect(order).toEqual(
      fixtures.flatMap(({ name }, at) => [
        `before ${name}`,
        `send ${ids[at] ?? ""}`,
        `result ${name}`,
      ]),
    );
    expect(report.results).toEqual(shown);
    expect(report).toMatchObject({ asExpected: 1, different: 2, notJudged: 1 });
  });
});

describe("failing targets", () => {
  const fixtures = async () => [
    await fixture("judged", { status: 200 }),
    await fixture("recorded"),
  ];
  const resultsAndErrors = ({ results }: { results: readonly ReplayResult[] }) =>
    results.map(({ result, error }) => [result, error]);

  it("a target that throws gives a result with its error", async () => {
    const error = "the request failed: the handler is broken";
    const target = () => {
      throw new Error("the handler is broken");
    };
    expect(resultsAndErrors(await replayFixtures(target, await fixtures()))).toEqual([
      ["different", error],
      ["not_judged", error],
    ]);
  });

  it.each([
    ["the first of several", new AggregateError([new Error("::1 refused"), new Error("another")])],
    ["no reason", new AggregateError([])],
    ["no error", "a text"],
  ])(
    "a target that rejects with %s gives a result with an error message",
    async (what, thrown: unknown) => {
      const target = () => Promise.reject<Response>(thrown);
      const [result] = (await replayFixtures(target, await fixtures())).results;
      const reason = what === "the first of several" ? "::1 refused" : "no reason is given";
      expect(result?.error).toBe(`the request failed: ${reason}`);
    },
  );

  it("a target that never answers gives a result with a time-out", async () => {
    const target = () => new Promise<Response>(() => undefined);
    const report = await replayFixtures(target, await fixtures(), { timeoutMs: 20 });
    expect(resultsAndErrors(report)).toEqual([
      ["different", "no answer within 20 ms"],
      ["not_judged", "no answer within 20 ms"],
    ]);
  });

  it("a target that refuses the connection gives a result with its error", async () => {
    const port = String(await freePort());
    const report = await replayFixtures(`http://127.0.0.1:${port}/`, await fixtures());
    for (const { error, status } of report.results) {
      expect(error).toContain("ECONNREFUSED");
      expect(status).toBeUndefined();
    }
    expect(report).toMatchObject({ different: 1, notJudged: 1 });
  });

  it("a fixture that HTTP cannot send gives a result too", async () => {
    const [whole] = await fixtures();
    if (whole === undefined) throw new Error("there is no fixture");
    const broken = { ...whole, headers: { ...whole.headers, "X-Odd": "a\nb" } };
    const report = await replayFixtures(answering(200, ""), [broken, whole]);
    expect(report.results.map(({ result }) => result)).toEqual(["different", "as_expected"]);
  });
});

describe("errors", () => {
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

  it("replayFixtures rejects for a target that is not a URL", async () => {
    await expect(replayFixtures("localhost:3000", [])).rejects.toThrow(ConfigurationError);
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
});
