import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConformanceCase } from "../../kit/conformance/conformance-case.js";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance, type ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger, type Ledger } from "../support/ledger.js";

/** Longer than it takes to send the duplicates of many deliveries on a busy machine. Each receiver has a time-out. */
const SLOW_MS = 60_000;

/** Starts a proxy in front of a host, such as 127.0.0.1:8080. */
export type Front = (
  upstream: string,
) => Promise<{ readonly host: string; readonly stop: () => Promise<void> }>;

/** In which order a run has its cases. */
export type Order = (cases: readonly ConformanceCase[]) => readonly ConformanceCase[];

/** Runs the suite, or only some of its cases, against a server with a ledger of its own. */
export async function judge(
  createServer: (ledger: Ledger) => Server,
  options: Partial<ConformanceOptions> = {},
  only?: readonly string[],
  front?: Front,
  orders: readonly Order[] = [(cases) => cases],
): Promise<ConformanceReport> {
  const ledger = createLedger(SLOW_MS);
  const server = createServer(ledger);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { handled, whileFailing, whileSlow } = ledger;
  const upstream = `127.0.0.1:${port}`;
  const proxy = await front?.(upstream);
  const target = `http://${proxy?.host ?? upstream}/webhooks/gateway`;
  try {
    const suite = { target, handled, whileFailing, whileSlow, ...options };
    const [first, ...more] = await inPool(orders, 1, (order) => runCases(suite, only, order));
    if (first === undefined) throw new Error("no run");
    return { ...first, results: [first, ...more].flatMap(({ results }) => results) };
  } finally {
    await proxy?.stop();
    // A flawed receiver may never answer.
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Runs the suite, or only some of its cases. */
export function runCases(
  options: Omit<ConformanceOptions, "secret"> & Partial<ConformanceOptions>,
  only?: readonly string[],
  order: Order = (cases) => cases,
): Promise<ConformanceReport> {
  const cases = receiverConformance({ secret: TEST_SECRET, ...options });
  return runConformance(order(cases.filter(({ id }) => only?.includes(id) ?? true)));
}

/** Does `work` for each item, several at a time, since most of the time is spent waiting. */
export async function inPool<T, R>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const waiting = [...items.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results[next[0]] = await work(next[1]);
    }
  };
  await Promise.all(Array.from({ length: size }, worker));
  return results;
}
