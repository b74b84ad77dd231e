import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { GOLDEN, GOLDEN_BYTES } from "../signature/golden-vector.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { Fuzzer } from "../fuzz/fuzz.js";
import { sign } from "../fuzz/judge.js";
import { LEFT_EVENT, PLANTED_FLAWS } from "../fuzz/planted-flaws.js";
import { runFuzz } from "../fuzz/run-fuzz.js";
import { spiedStore } from "../support/spied-store.js";

/** Number of requests by `npm run test:all`, and in which every planted flaw must be found. */
const QUICK = 3_000;
const REQUESTS = Number(process.env["FUZZ_RUNS"] ?? QUICK);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_251_009);
/** Far above the real duration, so that only a hang exceeds it. */
const TIMEOUT_MS = 60_000 + 5 * REQUESTS;

/** What a quick run must reach. */
const REACHED = [
  "old signature: body_too_large",
  "old signature: malformed",
  "old signature: method_not_allowed",
  "old signature: reachable",
  "old signature: signature_mismatch",
  "old signature: unsigned",
  "new signature: handled",
  "new signature: duplicate",
  "new signature: unhandled",
  "new signature: stale",
  "new signature: type_mismatch",
  "new signature: unrecognized",
  "forged: signature_mismatch",
];

/** Bytes of the heap after garbage collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

it(
  "fuzzed requests end as a second reading of the documents says, and leave nothing behind",
  async () => {
    const startedAt = performance.now();
    const { sent, outcomes, finding } = await runFuzz(SEED, REQUESTS);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const counts = [...outcomes].sort().map(([kind, count]) => `\n  ${kind}: ${count}`);
    process.stdout.write(`FUZZ_SEED=${SEED}: ${sent} requests in ${seconds} s${counts.join("")}\n`);
    expect(finding).toBeUndefined();
    expect(sent).toBeGreaterThanOrEqual(REQUESTS);
    expect(Object.keys(Object.prototype)).toEqual([]);
    // The mutations are useful: they reach every outcome that a request can cause.
    const missing = REACHED.filter((kind) => !outcomes.has(kind));
    if (REQUESTS >= QUICK) expect(missing).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "requests of a sender without a secret reach no store and leave nothing in memory",
  async () => {
    const fuzzer = new Fuzzer(SEED, () => ["a secret that the receiver does not have"]);
    const spy = spiedStore();
    const { options, lines } = createCollector();
    const outcomes = new Set<string>();
    const receiver = createWebhookReceiver({
      secret: ["a newer secret", TEST_SECRET],
      handlers: { new_alarm: () => undefined },
      store: spy.store,
      maxBodyBytes: 8_192,
      logger: options.logger,
      now: () => NOW_MS,
    });
    const sets = Math.floor(Math.max(QUICK, REQUESTS) / 8);
    let heapBefore = 0;
    for (let set = 0; set < sets; set++) {
      if (set === Math.floor(sets / 4)) heapBefore = heapBytes();
      for (const { request } of fuzzer.next()) {
        outcomes.add((await receiver.receive(request)).outcome);
      }
    }

    expect(heapBytes() - heapBefore).toBeLessThan(8 * 1_048_576);
    expect(spy.calls).toEqual([]);
    // One line per outcome and minute, for any number of requests.
    expect(lines.length).toBeLessThanOrEqual(outcomes.size * (1 + TIMEOUT_MS / 60_000));
    expect([...outcomes].sort()).toEqual([
      "body_too_large",
      "malformed",
      "method_not_allowed",
      "reachable",
      "signature_mismatch",
      "unsigned",
    ]);
  },
  TIMEOUT_MS,
);

describe("the fuzz itself", () => {
  afterEach(() => {
    process.removeAllListeners(LEFT_EVENT);
  });

  it.each(Object.entries(PLANTED_FLAWS))("a receiver that %s is convicted", async (_flaw, make) => {
    const { finding } = await runFuzz(1, QUICK, make);
    expect(finding).toBeDefined();
  });

  it("the judge signs as the gateway's golden vector", () => {
    const { secret, timestamp, id, signature } = GOLDEN;
    expect(sign(secret, timestamp, id, GOLDEN_BYTES)).toBe(signature);
  });

  it("the same seed gives the same requests", () => {
    const take = (seed: number) => {
      const fuzzer = new Fuzzer(seed, () => [TEST_SECRET]);
      return inspect(
        Array.from({ length: 100 }, () => fuzzer.next()),
        { depth: 6 },
      );
    };
    expect(take(7)).toBe(take(7));
    expect(take(8)).not.toBe(take(7));
  });
});
