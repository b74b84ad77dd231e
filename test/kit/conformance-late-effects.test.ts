import http from "node:http";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { NEVER_PROVEN } from "../../kit/conformance/run-conformance.js";
import { createLedger } from "../support/ledger.js";
import { failureOf, idsOf, ledgerReceiver, runSuite } from "../support/testing/run-suite.js";
import { serving } from "../support/serving.js";

/** A receiver with a queue whose consumer is slower than the suite waits by default. */
function slowQueue(afterMs: number) {
  const [queue, consumer] = [createLedger(), createLedger()];
  const timers = new Set<NodeJS.Timeout>();
  const target = ledgerReceiver({
    record(delivery) {
      void queue.record(delivery);
      timers.add(setTimeout(() => void consumer.record(delivery), afterMs));
    },
  });
  return { target, handled: consumer.handled };
}

describe("handledWithinMs", () => {
  it("a queue that takes longer than handledWithinMs fails, and the message names the option", async () => {
    const failure = await failureOf("alarm", { ...slowQueue(400), handledWithinMs: 100 });
    expect(failure.message).toContain("but handled never in 100 ms: a queue that takes longer");
    expect(failure.message).toContain("the option handledWithinMs");
  });

  it("a queue that handles a delivery within handledWithinMs passes", async () => {
    const options = { ...slowQueue(300), handledWithinMs: 10_000 };
    const { results } = await runSuite(options, ["alarm", "event"]);
    expect(results.map(({ result }) => result)).toEqual(["passed", "passed"]);
  });
});

describe("the last cases", () => {
  it("a delivery that another case counted once is counted again at the end", async () => {
    const ledger = createLedger();
    const target = ledgerReceiver(ledger);
    const options = { target, handled: ledger.handled, handledWithinMs: 50 };
    let id = "";
    const counting = {
      ...options,
      handled(asked: string) {
        // The first delivery of the run is handled again while the last case runs.
        if (id === "") id = asked;
        else if (asked !== id && ledger.handled(id) === 1) void ledger.record({ id });
        return ledger.handled(asked);
      },
    };
    const { results } = await runSuite(counting, ["alarm", "late_effects"]);
    expect(results.map(({ result }) => result)).toEqual(["passed", "failed"]);
    expect(results[1]?.reason).toBe(
      `a delivery with the id ${id} was handled once when its case ended, and 2 times some time later`,
    );
  });

  it("a delivery whose case has failed is not counted again", async () => {
    // As a load balancer does that passes on the last of two headers: the case sends one id until it is taken.
    const ledger = createLedger();
    const handle = nodeHandler(ledgerReceiver(ledger));
    const server = http.createServer((req, res) => {
      for (const [name, values = []] of Object.entries(req.headersDistinct)) {
        req.headers[name] = values.at(-1);
      }
      handle(req, res);
    });
    const options = { target: await serving(server), handled: ledger.handled, handledWithinMs: 50 };
    const report = await runSuite(options, ["repeated_headers", "late_effects"]);
    expect(idsOf(report, "failed")).toEqual(["repeated_headers"]);
  });

  it("the report says what no run proves, also when every case passed", async () => {
    const report = await runSuite({}, ["alarm"]);
    expect(report.failed).toBe(0);
    expect(report.neverProven).toBe(NEVER_PROVEN);
    const text = JSON.stringify(report.neverProven);
    for (const word of ["72 hours", "replicas", "restart", "which record"]) {
      expect(text).toContain(word);
    }
  });
});
