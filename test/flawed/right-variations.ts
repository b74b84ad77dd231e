import type { RequestListener, Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { overriding, replacing, type Judged } from "./flaw.js";
import type { Answer, Fields, Request } from "./right-receiver.js";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const JSON_TYPE = { "content-type": "application/json" };
export const PAGE: Answer = [503, "<h1>Unavailable</h1>", { "content-type": "text/html" }];
export const BUSY: Answer = [429, "slow down", { "retry-after": "1" }];
export const answering = (done: Answer, duplicate = done) =>
  overriding({ done: () => done, duplicate: () => duplicate });
export const inFlight = (answer: Answer) => overriding({ inFlight: () => answer });
export const failing = (answer: Answer) => overriding({ failed: () => answer });

export function withServer(change: (server: Server, serve: RequestListener) => unknown) {
  return replacing("createServer", (right) => {
    const server = right.createServer();
    change(server, (req, res) => void right.serve(req, res));
    return server;
  });
}

export function tolerating(seconds: number) {
  return overriding({
    isFresh: ({ timestamp }) => Math.abs(Date.now() / 1_000 - Number(timestamp)) <= seconds,
  });
}

/** Lets something in front answer some requests before they are read. */
export function inFront(front: () => () => Answer | undefined) {
  return overriding((right) => {
    const answerOf = front();
    return {
      async serve(req, res) {
        const [status, text, headers] = answerOf() ?? [];
        if (status === undefined) return right.serve(req, res);
        res.writeHead(status, { connection: "close", ...headers }).end(text);
      },
    };
  });
}

export function every(nth: number, answer: Answer) {
  let seen = 0;
  return () => (++seen % nth === 0 ? answer : undefined);
}

/** A bucket of tokens for all requests. */
export function limited(aSecond: number) {
  let [tokens, at] = [aSecond / 4, performance.now()];
  return () => {
    const earned = ((performance.now() - at) * aSecond) / 1_000;
    [tokens, at] = [Math.min(aSecond / 4, tokens + earned), performance.now()];
    return tokens < 1 ? BUSY : void (tokens -= 1);
  };
}

/** A lock that ends by itself: no one frees the id of a failed delivery. */
export function leased(leaseMs: number) {
  return overriding((right) => {
    const leases = new Map<string, number>();
    return {
      handleOnce(request, record) {
        const leftMs = (leases.get(request.id) ?? 0) - performance.now();
        return leftMs > 0
          ? Promise.resolve([409, "locked", { "retry-after": String(Math.ceil(leftMs / 1_000)) }])
          : right.handleOnce(request, record);
      },
      failed(request, key) {
        leases.set(request.id, performance.now() + leaseMs);
        return right.failed(request, key);
      },
    };
  });
}

/** A durable queue whose worker tries again after `firstMs`, twice that, and so on. `pollMs`: how often it looks. */
export function queued(status: number, firstMs: number, pollMs = 20) {
  return overriding((right) => {
    const known = new Set<string>();
    const work = async (request: Request, record: Fields, backOffMs: number) => {
      await wait(pollMs - (performance.now() % pollMs), undefined, { ref: false });
      try {
        await right.handle(request, record);
      } catch {
        await wait(backOffMs, undefined, { ref: false });
        await work(request, record, 2 * backOffMs);
      }
    };
    return {
      handleOnce(request, record) {
        if (!known.has(request.id)) void work(request, record, firstMs);
        known.add(request.id);
        return Promise.resolve([status, "queued"]);
      },
    };
  });
}

export function leavingOut(types: readonly string[]): Judged {
  const make = replacing("handle", async (right, request, record) => {
    if (!types.includes(String(record["event_type"] ?? record["type"])))
      await right.handle(request, record);
  });
  return [make, { leftOut: types }];
}

/** PostgreSQL's jsonb holds no NUL and no half of a surrogate pair. */
export function hasOddText(value: unknown): boolean {
  return value instanceof Object
    ? Object.entries(value).flat().some(hasOddText)
    : /[\0\p{Surrogate}]/u.test(String(value));
}
