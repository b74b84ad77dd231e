import { DiscardDelivery, RetryLater, memoryStore } from "../../../src/index.js";
import { deferred } from "../deferred.js";
import {
  ensureEqual,
  exchangeWith,
  judge,
  signed,
  type AdapterCase,
  type ExchangeOptions,
  type Expected,
} from "./adapter-exchange.js";
import { rejects, throwing } from "../faults.js";

const HANDLED: Expected = { status: 200, outcome: "handled" };
const DUPLICATE: Expected = { status: 200, outcome: "duplicate" };
/** The rest of a one-second lease, rounded up to whole seconds. */
const LEASE_MS = 1_000;
const IN_FLIGHT: Expected = { status: 409, outcome: "in_flight", retryAfter: "1" };
const REQUESTS = 8;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Lets all pending callbacks run. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

/** A handler that fails at first: the next attempt is handled. */
function failingOnce(
  id: string,
  title: string,
  expected: Expected,
  fail: () => unknown,
): AdapterCase {
  return {
    id,
    title,
    run: (target) => {
      let failing = true;
      const handler = () => (failing ? fail() : undefined);
      return exchangeWith(target, { handler }, async ({ expect, runs }) => {
        await expect(await signed(), expected);
        failing = false;
        await expect(await signed(), HANDLED);
        ensureEqual("runs", runs.length, 2);
      });
    },
  };
}

/** The signal aborts later than the answer, by what the delivery took before its handler was called. */
async function aborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
}

/** A handler that outlives `handlerTimeoutMs`: its answer, and the answer to the next attempt. */
function slow(
  id: string,
  title: string,
  fails: boolean,
  next: Expected,
  runs: number,
): AdapterCase {
  return {
    id,
    title,
    run: (target) => {
      const work = deferred();
      return exchangeWith(
        target,
        { handler: () => work.promise, handlerTimeoutMs: 20, leaseMs: LEASE_MS },
        async (exchange) => {
          await exchange.expect(await signed(), {
            status: 503,
            outcome: "handler_timeout",
            retryAfter: "30",
          });
          await aborted(exchange.runs[0]?.signal);
          await exchange.expect(await signed(), IN_FLIGHT);
          if (fails) work.reject(new Error("too late"));
          else work.resolve();
          await settled();
          if (fails && target.isGivenUp === true) await sleep(LEASE_MS);
          await exchange.expect(await signed(), next);
          ensureEqual("runs", exchange.runs.length, runs);
        },
      );
    },
  };
}

const UNAVAILABLE: readonly (readonly ["store" | "secret", string, ExchangeOptions])[] = [
  ["store", "the store is down", { store: { ...memoryStore(), claim: rejects } }],
  ["secret", "the secret is unavailable", { secret: rejects }],
];

/** Deliveries that reach the handler, and those that cannot. */
export const handlerCases: readonly AdapterCase[] = [
  failingOnce(
    "handler_rejects",
    "a handler that rejects is answered 500, and the next attempt runs it again",
    { status: 500, outcome: "handler_failed" },
    () => Promise.reject(new Error("no database")),
  ),
  failingOnce(
    "handler_throws",
    "a handler that throws is answered 500, and the next attempt runs it again",
    { status: 500, outcome: "handler_failed" },
    throwing(new Error("no database")),
  ),
  failingOnce(
    "retry_later",
    "a handler may ask for the delivery again",
    { status: 503, outcome: "retry_later", retryAfter: "60" },
    throwing(new RetryLater()),
  ),
  failingOnce(
    "retry_later_after",
    "a handler may say when to send the delivery again",
    { status: 503, outcome: "retry_later", retryAfter: "5" },
    () => Promise.reject(new RetryLater({ afterMs: 4_001 })),
  ),
  {
    id: "discarded",
    title: "a handler may discard a delivery for good",
    run: (target) => {
      const handler = throwing(new DiscardDelivery({ reason: "an account that was closed" }));
      return exchangeWith(target, { handler }, async ({ expect, runs }) => {
        await expect(await signed(), { status: 200, outcome: "discarded" });
        await expect(await signed(), DUPLICATE);
        ensureEqual("runs", runs.length, 1);
      });
    },
  },
  slow(
    "slow_success",
    "a late success counts: the next attempt is a duplicate",
    false,
    DUPLICATE,
    1,
  ),
  slow(
    "slow_failure",
    "a late failure counts: the next attempt is handled anew",
    true,
    { status: 500, outcome: "handler_failed" },
    2,
  ),
  {
    id: "concurrent_requests",
    title: "one of several concurrent duplicates is handled, and none is acknowledged before",
    run: (target) => {
      const work = deferred();
      return exchangeWith(
        target,
        { handler: () => work.promise, leaseMs: LEASE_MS },
        async ({ expect, send, runs }) => {
          let answered = 0;
          const othersAnswered = deferred();
          const request = async () => {
            const answer = await send(await signed());
            answered += 1;
            if (answered === REQUESTS - 1) othersAnswered.resolve();
            return answer;
          };
          const requests = Array.from({ length: REQUESTS }, request);
          await othersAnswered.promise;
          work.resolve();
          const answers = await Promise.all(requests);
          const acknowledged = answers.filter(({ status }) => status === 200);
          ensureEqual("acknowledged", acknowledged.length, 1);
          for (const answer of answers) judge(answer, answer.status === 200 ? HANDLED : IN_FLIGHT);
          await expect(await signed(), DUPLICATE);
          ensureEqual("runs", runs.length, 1);
        },
      );
    },
  },
  {
    id: "draining",
    title: "a draining receiver asks the gateway to send every delivery again later",
    run: (target) =>
      exchangeWith(target, {}, async ({ receiver, expect, runs }) => {
        await receiver.drain();
        const draining = { status: 503, outcome: "draining", retryAfter: "10" } as const;
        await expect(await signed(), draining);
        await expect(await signed({ secret: "whsec_of_somebody_else" }), draining);
        ensureEqual("runs", runs.length, 0);
      }),
  },
  ...UNAVAILABLE.map(([what, when, options]): AdapterCase => ({
    id: `${what}_unavailable`,
    title: `a delivery is refused for a retry, unhandled, when ${when}`,
    run: (target) =>
      exchangeWith(target, options, async ({ expect, runs }) => {
        await expect(await signed(), { status: 503, outcome: `${what}_unavailable` });
        ensureEqual("runs", runs.length, 0);
      }),
  })),
];
