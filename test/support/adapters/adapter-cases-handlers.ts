import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { Server } from "node:net";
import { RetryLater, type WebhookTelemetry } from "../../../src/index.js";
import {
  ensureEqual,
  exchangeWith,
  headerOf,
  signed,
  type AdapterCase,
} from "./adapter-exchange.js";

/** A handler that fails at first. `receiverConformance` has failures of other kinds, late and concurrent handlers. */
export const handlerCases: readonly AdapterCase[] = [
  {
    id: "retry_later_after",
    title: "a handler may say when to send the delivery again: the next attempt is handled",
    run: (target) => {
      let failing = true;
      const handler = () =>
        failing ? Promise.reject(new RetryLater({ afterMs: 4_001 })) : undefined;
      return exchangeWith(target, { handler }, async ({ expect, runs }) => {
        await expect(await signed(), { status: 503, outcome: "retry_later", retryAfter: "5" });
        failing = false;
        await expect(await signed(), { status: 200, outcome: "handled" });
        ensureEqual("runs", runs.length, 2);
      });
    },
  },
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
