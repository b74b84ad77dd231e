import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { Server } from "node:net";
import { RetryLater, type WebhookTelemetry } from "../../../src/index.js";
import { deferred } from "../deferred.js";
import {
  ensureEqual,
  exchangeWith,
  headerOf,
  signed,
  type AdapterCase,
  type Expected,
} from "./adapter-exchange.js";

const HANDLED: Expected = { status: 200, outcome: "handled" };
const DUPLICATE: Expected = { status: 200, outcome: "duplicate" };
/** The rest of a one-second lease, rounded up to whole seconds. */
const LEASE_MS = 1_000;
const IN_FLIGHT: Expected = { status: 409, outcome: "in_flight", retryAfter: "1" };

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

/** Deliveries whose handlers fail or are late. `receiverConformance` has concurrent ones. */
export const handlerCases: readonly AdapterCase[] = [
  failingOnce(
    "handler_rejects",
    "a handler that rejects is answered 500, and the next attempt runs it again",
    { status: 500, outcome: "handler_failed" },
    () => Promise.reject(new Error("no database")),
  ),
  failingOnce(
    "retry_later_after",
    "a handler may say when to send the delivery again",
    { status: 503, outcome: "retry_later", retryAfter: "5" },
    () => Promise.reject(new RetryLater({ afterMs: 4_001 })),
  ),
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
];

const SEQUENTIAL = 3;
const AT_ONCE = 5;

/** What a tracer of the host does: each request of a server runs in a context of its own, named by its id. */
function serversIn(requests: AsyncLocalStorage<string>): () => void {
  const emit = Reflect.get(Server.prototype, "emit") as (
    this: Server,
    ...args: unknown[]
  ) => boolean;
  Server.prototype.emit = function (
    this: Server,
    event: string | symbol,
    ...args: unknown[]
  ): boolean {
    const emitAsBefore = () => emit.apply(this, [event, ...args]);
    if (event !== "request") return emitAsBefore();
    const { headers } = args[0] as IncomingMessage;
    return requests.run(String(headers["x-webhook-id"]), emitAsBefore);
  };
  return () => {
    Server.prototype.emit = emit;
  };
}

/** The asynchronous context of a request, which tracers set, reaches everything that runs for it. */
export const contextCases: readonly AdapterCase[] = [
  {
    id: "async_context",
    title: "handlers, observers and telemetry run in the asynchronous context of their request",
    run: async (target) => {
      const requests = new AsyncLocalStorage<string>();
      const seen: string[] = [];
      const note = (what: string, id: string | undefined) => {
        seen.push(`${what}: ${String(requests.getStore() === id)}`);
      };
      const ids: string[] = [];
      const telemetry: WebhookTelemetry<string | undefined> = {
        begin: () => requests.getStore(),
        run(state, { id }, call) {
          ensureEqual("context at begin", state, id);
          note("telemetry", id);
          return call();
        },
        end: () => undefined,
      };
      const stop = serversIn(requests);
      try {
        return await exchangeWith(
          target,
          {
            telemetry,
            onOutcome: ({ id }) => note("onOutcome", id),
            handler: async ({ id }) => {
              note("handler", id);
              await new Promise(setImmediate);
              note("handler later", id);
            },
          },
          async ({ send }) => {
            const sendNext = async () => {
              const id = `context-${String(ids.length)}`;
              ids.push(id);
              const request = { ...(await signed({ id })), chunked: true };
              await requests.run(headerOf(request, "x-webhook-id"), () => send(request));
            };
            // One after the other on a connection that is kept, and then several at once.
            for (let count = 0; count < SEQUENTIAL; count += 1) await sendNext();
            await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
            const expected = ["telemetry", "handler", "handler later", "onOutcome"];
            for (const what of expected) {
              const found = seen.filter((line) => line === `${what}: true`).length;
              ensureEqual(`${what} in its context`, found, SEQUENTIAL + AT_ONCE);
            }
          },
        );
      } finally {
        stop();
      }
    },
  },
];
