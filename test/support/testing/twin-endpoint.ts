/** A request that arrived at an endpoint. */
interface Arrival {
  /** When it arrived, on the endpoint's clock. */
  readonly at: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Makes an endpoint in this process that records what arrives. `statusOf` returns the status for each request, counted from 0. */
export function twinEndpoint(
  now: () => number,
  statusOf: (arrival: Arrival, count: number) => number | Promise<number>,
): { target: (request: Request) => Promise<Response>; arrivals: readonly Arrival[] } {
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
