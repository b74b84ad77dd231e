import http from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { NEVER_PROVEN } from "../../kit/conformance/run-conformance.js";
import { createWebhookReceiver } from "../../src/receiver.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import {
  failureOf,
  idsOf,
  ledgerReceiver,
  runSuite,
  type Answering,
} from "../support/testing/run-suite.js";

/** An option that runs work while the handler does not as it should. */
type Probe = NonNullable<ConformanceOptions["whileSlow"]>;

/** How one case ends. */
async function endOf(id: string, options: Partial<ConformanceOptions>) {
  return (await runSuite(options, [id])).results[0];
}

const noError: unknown = "text";

it.each<[string, () => Promise<unknown>]>([
  ["failed: text", () => Promise.reject(new Error("text"))],
  ["failed: no reason is given", () => Promise.reject(noError)],
  ["must call and await its argument", () => Promise.resolve()],
])("a broken whileFailing fails its case with the message … %s", async (message, option) => {
  const failure = await failureOf("failure_sent_again", { whileFailing: option as Probe });
  expect(failure.message).toContain(`the option whileFailing ${message}`);
});

it.each([
  ["whileFailing", "failure_sent_again", 500],
  ["whileSlow", "late_handler_counts", 200],
])("%s alone is not enough if the receiver names no outcome", async (name, id, status) => {
  let isWorking = true;
  const target = () => new Response("", { status: isWorking ? 200 : status });
  const probe: Probe = async (work) => {
    isWorking = false;
    return work().finally(() => (isWorking = true));
  };
  const end = await endOf(id, { target, [name]: probe });
  expect(end?.result).toBe("not_judged");
  expect(end?.reason).toContain("the option handled");
});

it.each([
  ["whileFailing", "failure_sent_again"],
  ["whileSlow", "late_handler_counts"],
] as const)(
  "%s alone is enough if the receiver names its outcomes, and the report says so",
  async (name, id) => {
    const ledger = createLedger();
    const end = await endOf(id, { target: ledgerReceiver(ledger), [name]: ledger[name] });
    expect(end?.result).toBe("passed");
    expect(end?.reason).toContain("by the outcome in the receiver's answer");
  },
);

it("whileFailing need not return the result of its work", async () => {
  const ledger = createLedger();
  const whileFailing = (async (work: () => Promise<unknown>) => {
    await ledger.whileFailing(work);
  }) as Probe;
  const options = { target: ledgerReceiver(ledger), handled: ledger.handled, whileFailing };
  expect((await endOf("failure_sent_again", options))?.result).toBe("passed");
});

it.each<[does: string, result: string, reason: string, retries: boolean, isCounted: boolean]>([
  ["handles it later", "not_judged", "a queue that survives the process", true, true],
  ["drops it", "failed", "it was handled never in 1500 ms", false, true],
  ["may handle it later", "not_judged", "pass the option handled", true, false],
])(
  "a receiver that acknowledges a delivery whose handler fails and %s is %s",
  async (_, result, reason, retries, isCounted) => {
    const ledger = createLedger();
    const done = new Set<string>();
    const work = async (id: string): Promise<void> => {
      try {
        if (!done.has(id)) await ledger.record({ id });
        done.add(id);
      } catch {
        // As a worker does that tries again.
        if (retries) setTimeout(() => void work(id), 20);
      }
    };
    const target = async ({ headers }: Request): Promise<Response> => {
      await work(headers.get("x-webhook-id") ?? "");
      return new Response("", { status: 202 });
    };
    const { whileFailing } = ledger;
    const handled = isCounted ? ledger.handled : undefined;
    // The retry ends the wait, however slow the machine is.
    const handledWithinMs = retries ? 30_000 : 300;
    const options = { target, handled, whileFailing, handledWithinMs };
    const end = await endOf("failure_sent_again", options);
    expect([end?.result, end?.reason]).toEqual([result, expect.stringContaining(reason)]);
  },
);

const CASE = "late_handler_counts";

/** The bodies that the receiver answered in the case. */
function bodiesOf(result: Awaited<ReturnType<typeof endOf>>): readonly string[] {
  return (result?.exchanges ?? []).map(({ received }) => ("body" in received ? received.body : ""));
}

it("whileSlow shows that a retry after a late handler is a duplicate", async () => {
  const ledger = createLedger();
  const { handled, whileSlow } = ledger;
  const result = await endOf(CASE, { target: ledgerReceiver(ledger), handled, whileSlow });
  expect(result).toMatchObject({ result: "passed" });
  expect(result).not.toHaveProperty("reason");
  const bodies = bodiesOf(result);
  expect(bodies.join("\n")).toContain("HANDLER_TIMEOUT");
  expect(bodies.join("\n")).toContain("IN_FLIGHT");
  expect(bodies.at(-1)).toBe('{"outcome":"duplicate"}');
  const headers = result?.exchanges.map(({ sent }) => new Map(sent.headers)) ?? [];
  // Of each kind of record: the first request, a duplicate meanwhile, and retries.
  const ids = headers.map((of) => of.get("X-Webhook-Id"));
  expect(new Set(headers.map((of) => of.get("X-Webhook-Type"))).size).toBe(2);
  expect(new Set(ids).size).toBeGreaterThan(25);
  expect(ids.length).toBeGreaterThan(3 * new Set(ids).size);
});

it("whileSlow passes a receiver that awaits its handler, and says that nothing was late", async () => {
  const ledger = createLedger();
  const { handled, whileSlow } = ledger;
  const target = ledgerReceiver(ledger, { handlerTimeoutMs: 20_000 });
  const result = await endOf(CASE, { target, handled, whileSlow });
  expect(result?.result).toBe("passed");
  expect(result?.reason).toContain("slower than the receiver's time-out");
});

it("whileSlow passes a receiver with a durable queue that answers the first request long after its duplicate", async () => {
  const ledger = createLedger();
  const { handled, whileSlow } = ledger;
  const queued = new Set<string>();
  const target: Answering = async ({ headers }) => {
    const id = headers.get("x-webhook-id") ?? "";
    if (!queued.has(id)) {
      queued.add(id);
      void ledger.record({ id });
      await wait(700);
    }
    return new Response("queued", { status: 202 });
  };
  expect(await endOf(CASE, { target, handled, whileSlow })).toMatchObject({ result: "passed" });
});

it("a handler that fails at once shows nothing about a late failure, and the report says so", async () => {
  const { record, handled, whileFailing } = createLedger();
  const target = ledgerReceiver({ record });
  const whileSlow: Probe = (work) => work();
  const options = { target, handled, whileFailing, whileSlow };
  const result = await endOf("late_failure_released", options);
  expect(result?.result).toBe("not_judged");
  expect(result?.reason).toContain("the handler failed at once");
});

/** A receiver of this library whose handler counts what `isCounted` picks. */
function counting(isCounted: (record: object) => boolean) {
  const ledger = createLedger();
  const handle = (record: object, delivery: { readonly id: string }) =>
    isCounted(record) ? ledger.record(delivery) : undefined;
  const handlers = { new_alarm: handle, delete_my_data_event: handle };
  const target = createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false });
  return { target, handled: ledger.handled, handledWithinMs: 50 };
}

it("a kind of record for which the handler does nothing is named, and may be left out", async () => {
  const idle = "PERSONAL_DATA_NOT_FOUND";
  const options = counting((record) => !("type" in record && record.type === idle));
  const failure = await failureOf("event_types", options);
  expect(failure.message).toBe(
    `${idle}: answered 200, which acknowledges the delivery, but handled never in 50 ms: the handler does nothing for ${idle}. Is a case missing, or is it left out on purpose? Then name it in the option leftOut`,
  );
  const ids = ["alarm", "event", "event_types", "rare_values", "duplicate_handled_once"];
  const report = await runSuite({ ...options, leftOut: [idle] }, ids);
  expect(idsOf(report, "passed")).toEqual(ids);
  const others = counting((record) => "type" in record && record.type === idle);
  const only = await runSuite(
    { ...others, types: ["delete_my_data_event"], leftOut: ["DATA_REAPPEARED"] },
    ["event"],
  );
  expect(only.results[0]?.reason).toContain("a queue that takes longer");
});

it("what the suite may leave out is a documented type", () => {
  expect(() =>
    receiverConformance({ target: "http://a/", secret: TEST_SECRET, leftOut: ["ALL"] }),
  ).toThrow(/^leftOut must be a list of: /);
});

it("a handler that fails for one record keeps the case's own advice beside what the log shows", async () => {
  const record = {
    new_alarm: ({ severity }: { severity: string }) => {
      if (severity === "Critical") throw new Error("invalid input value for enum");
    },
  };
  const target = createWebhookReceiver({ secret: TEST_SECRET, handlers: record, logger: false });
  const { fix } = await failureOf("unknown_values", { target, types: ["new_alarm"] });
  expect(fix).toMatch(
    /answers handler_failed.*text instead of an enum.*Accept unknown fields and values/,
  );
  expect(fix).not.toContain("--account-id");
});

it("a queue that takes longer than handledWithinMs fails, and the message names the option", async () => {
  const consumer = createLedger();
  const target = ledgerReceiver({
    record: (delivery) => void setTimeout(() => void consumer.record(delivery), 400),
  });
  const options = { target, handled: consumer.handled, handledWithinMs: 100 };
  const failure = await failureOf("alarm", options);
  expect(failure.message).toContain("but handled never in 100 ms: a queue that takes longer");
  expect(failure.message).toContain("the option handledWithinMs");
});

it("a delivery that another case counted once is counted again at the end", async () => {
  const ledger = createLedger();
  const target = ledgerReceiver(ledger);
  const options = { target, handled: ledger.handled, handledWithinMs: 50 };
  const ids = new Set<string>();
  const counting = {
    ...options,
    handled(asked: string) {
      ids.add(asked);
      const [, id = ""] = ids;
      // The second delivery of the run is handled again while the last case runs.
      if (ids.size > 2 && ledger.handled(id) === 1) void ledger.record({ id });
      return ledger.handled(asked);
    },
  };
  const { results } = await runSuite(counting, ["alarm", "event", "late_effects"]);
  expect(results.map(({ result }) => result)).toEqual(["passed", "passed", "failed"]);
  const [, id = ""] = ids;
  expect(results[2]?.reason).toBe(
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
