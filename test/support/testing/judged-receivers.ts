import http, { type RequestListener } from "node:http";
import { nodeHandler } from "../../../adapters/node.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../../src/index.js";
import { ConformanceFailure } from "../../../src/testing/conformance/conformance-case.js";
import type { ConformanceOptions } from "../../../src/testing/conformance/conformance-options.js";
import { receiverConformance } from "../../../src/testing/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceReport,
} from "../../../src/testing/conformance/run-conformance.js";
import { TEST_SECRET } from "../deliveries.js";
import { createLedger, type Ledger } from "../ledger.js";
import { listen } from "../servers.js";
import type { CommonReceiverOptions } from "../receiver-options.js";

/** A receiver of ours whose handlers write into a ledger. */
export function ledgerReceiver(
  { record }: Pick<Ledger, "record">,
  options: Omit<Partial<CommonReceiverOptions>, "handlers"> = {},
): WebhookReceiver {
  const handle = (_record: unknown, context: { readonly id: string }) => record(context);
  return createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle, unrecognized: handle },
    logger: false,
    // Shorter than a handler of the ledger that is slow.
    handlerTimeoutMs: 150,
    ...options,
  });
}

/** Judges a receiver on a server, with every probe unless `options` take them away. */
export async function judgeListener(
  createListener: (ledger: Ledger) => RequestListener,
  options: Partial<ConformanceOptions> = {},
): Promise<ConformanceReport> {
  const ledger = createLedger();
  const server = await listen(http.createServer(createListener(ledger)));
  const { handled, whileFailing, whileSlow } = ledger;
  const target = `http://127.0.0.1:${server.port}/`;
  try {
    const probes = { handled, whileFailing, whileSlow };
    return await runConformance(
      receiverConformance({ target, secret: TEST_SECRET, ...probes, ...options }),
    );
  } finally {
    await server.close();
  }
}

/** The ids of the cases with a verdict. */
export function idsOf(
  { results }: ConformanceReport,
  wanted: ConformanceReport["results"][number]["verdict"],
): string[] {
  return results.filter(({ verdict }) => verdict === wanted).map(({ id }) => id);
}

/** Before one of ours on its server: false where it has answered itself. */
export type Front = (...exchange: Parameters<RequestListener>) => boolean;

/** What one of ours behind a front is accused of, and what is left unjudged. */
export async function judgeBehind(
  createFront: () => Front,
  options: Partial<ConformanceOptions> = {},
) {
  const front = createFront();
  const report = await judgeListener((ledger) => {
    const handle = nodeHandler(ledgerReceiver(ledger));
    return (req, res) => {
      if (front(req, res)) handle(req, res);
    };
  }, options);
  return { failed: idsOf(report, "failed"), notJudged: idsOf(report, "not_judged") };
}

/** A receiver as a function. */
export type Answering = (request: Request) => Response | Promise<Response>;

/** Runs every case, or those that are named. */
export function judgeTarget(options: Partial<ConformanceOptions>, ids?: readonly string[]) {
  const target = options.target ?? ledgerReceiver(createLedger());
  const cases = receiverConformance({ target, secret: TEST_SECRET, ...options });
  return runConformance(cases.filter(({ id }) => ids?.includes(id) ?? true));
}

/** How one case of a receiver fails. */
export async function failureOf(id: string, options: Partial<ConformanceOptions>) {
  const target = options.target ?? ledgerReceiver(createLedger());
  const cases = receiverConformance({ target, secret: TEST_SECRET, ...options });
  const found = cases.find((one) => one.id === id);
  const failure: unknown = await found?.run().catch((error: unknown) => error);
  if (!(failure instanceof ConformanceFailure)) throw new Error(`${id} did not fail`);
  return failure;
}

/** One that answers the same to everything. */
export const answering =
  (status: number, body = "{}"): Answering =>
  () =>
    new Response([204, 205, 304].includes(status) ? null : body, { status });
