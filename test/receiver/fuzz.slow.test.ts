import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createWebhookReceiver, type WebhookResponse } from "../../src/index.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { createAuthenticFuzzer, createFuzzer, type FuzzedRequest } from "../support/fuzz/fuzz.js";
import { spiedStore } from "../support/spied-store.js";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 20_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_251_009);
/** Far above the real duration, so that only a hang exceeds it. */
const TIMEOUT_MS = 60_000 + RUNS;

/** Bytes of the heap after garbage collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

function fail(what: string, run: number, { request, mutations }: FuzzedRequest): never {
  const { method, headers, body } = request;
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const shown = { method, headers: pairs, body: Buffer.from(body as string).toString("hex") };
  throw new Error(
    `${what}: FUZZ_SEED=${SEED}, run ${run}, by ${mutations.join(", ")}: ${JSON.stringify(shown)}`,
  );
}

describe("hostile requests", () => {
  it(
    "hostile requests run no handler, reach no store, are never 5xx and leave nothing in memory",
    async () => {
      const fuzzer = await createFuzzer(SEED);
      const spy = spiedStore();
      const { options, lines } = createCollector();
      const outcomes = new Map<string, number>();
      let handled = 0;
      const count = () => {
        handled += 1;
      };
      const receiver = createWebhookReceiver({
        secret: ["a newer secret", TEST_SECRET],
        handlers: { new_alarm: count, delete_my_data_event: count, unrecognized: count },
        store: spy.store,
        maxBodyBytes: 8_192,
        logger: options.logger,
        now: () => NOW_MS,
      });
      const quarter = Math.floor(RUNS / 4);
      let heapBefore = 0;
      let leftOut = 0;
      for (let run = 0; run < RUNS; run++) {
        if (run === quarter) heapBefore = heapBytes();
        const fuzzed = await fuzzer.next();
        if (fuzzed === undefined) {
          leftOut += 1;
          continue;
        }
        let response: WebhookResponse;
        try {
          response = await receiver.receive(fuzzed.request);
        } catch (error) {
          fail(`rejected with ${String(error)}`, run, fuzzed);
        }
        const { status, outcome } = response;
        if (status !== 409 && status !== 405 && outcome !== "reachable")
          fail(`${status} ${outcome}`, run, fuzzed);
        if (handled > 0) fail("a handler ran", run, fuzzed);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
      const grown = heapBytes() - heapBefore;

      expect(spy.calls).toEqual([]);
      expect(grown).toBeLessThan(8 * 1_048_576);
      // One line per outcome and minute, for any number of requests.
      expect(lines.length).toBeLessThanOrEqual(outcomes.size * (1 + TIMEOUT_MS / 60_000));
      // The mutations are useful: most are hostile, and together they reach every outcome.
      expect(leftOut).toBeLessThan(RUNS / 5);
      expect([...outcomes.keys()].sort()).toEqual([
        ...["body_too_large", "malformed", "method_not_allowed", "reachable", "signature_mismatch"],
        ...["type_mismatch", "unsigned"],
      ]);
      for (const genuine of fuzzer.genuine) {
        expect(await receiver.receive(genuine)).toMatchObject({ status: 200, outcome: "handled" });
      }
    },
    TIMEOUT_MS,
  );

  it("the fuzzer gives the same requests for the same seed", async () => {
    const [one, same, other] = await Promise.all([7, 7, 8].map(createFuzzer));
    const take = async (fuzzer = one) => {
      const taken: unknown[] = [];
      for (let run = 0; run < 200; run++) taken.push((await fuzzer?.next())?.mutations);
      return taken;
    };
    const taken = await take(one);
    expect(await take(same)).toEqual(taken);
    expect(await take(other)).not.toEqual(taken);
  });
});

it(
  "authentic requests with odd bodies are handled or unrecognized, never an internal error",
  async () => {
    const runs = Math.max(2_000, Math.floor(RUNS / 20));
    const fuzzer = await createAuthenticFuzzer(SEED);
    const { options, reports } = createCollector();
    const wrong: unknown[] = [];
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: {
        new_alarm: ({ id, account_id, text, payload }) => {
          if (!Number.isSafeInteger(id) || !Number.isSafeInteger(account_id)) wrong.push(id);
          if (typeof text !== "string" || typeof payload !== "string") wrong.push(text);
        },
        delete_my_data_event: ({ type, site_id }) => {
          if (typeof type !== "string") wrong.push(type);
          if (site_id !== null && !Number.isSafeInteger(site_id)) wrong.push(site_id);
        },
      },
      maxBodyBytes: 8_192,
      now: () => NOW_MS,
      logger: false,
      onOutcome: options.onOutcome,
    });
    for (let run = 0; run < runs; run++) {
      const fuzzed = await fuzzer.next();
      const { status, outcome } = await receiver.receive(fuzzed.request);
      if (![200, 409, 503].includes(status)) fail(`${status} ${outcome}`, run, fuzzed);
    }
    expect(wrong).toEqual([]);
    expect(reports).toHaveLength(runs);
    expect([...new Set(reports.map(({ outcome }) => outcome))].sort()).toEqual([
      ...["body_too_large", "handled", "type_mismatch", "unrecognized"],
    ]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
  TIMEOUT_MS,
);
