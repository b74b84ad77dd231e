import type { AttemptResult } from "../../../src/testing/twin/attempt-result.js";

/** A request as an endpoint got it. */
export interface Arrival {
  /** Of the endpoint's clock. */
  readonly at: number;
  readonly headers: Headers;
  readonly body: string;
}

/** An endpoint in this process that answers what it is told to, and knows what arrived. */
export interface TwinEndpoint {
  readonly target: (request: Request) => Promise<Response>;
  readonly arrivals: readonly Arrival[];
}

/** `statusOf` is asked for each request, counted from 0; it may take its time. */
export function twinEndpoint(
  now: () => number,
  statusOf: (arrival: Arrival, count: number) => number | Promise<number>,
): TwinEndpoint {
  const arrivals: Arrival[] = [];
  return {
    arrivals,
    async target(request) {
      const arrival = { at: now(), headers: request.headers, body: await request.text() };
      const count = arrivals.push(arrival) - 1;
      return new Response(null, { status: await statusOf(arrival, count) });
    },
  };
}

/** What GATEWAY.md, "Events", rule 2, says of a status, written down once more and not derived. */
export function resultByContract(status: number): AttemptResult {
  if (Math.floor(status / 100) === 2) return "acknowledged";
  if ([408, 409, 429, 500, 502, 503, 504].includes(status)) return "retryable";
  return [400, 401, 403, 404, 422].includes(status) ? "final" : "unlisted";
}
