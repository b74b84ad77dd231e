import http, { type RequestListener } from "node:http";
import { createWebhookReceiver, type WebhookReceiver } from "../../../src/index.js";
import { ConformanceFailure } from "../../../kit/conformance/conformance-case.js";
import type { ConformanceOptions } from "../../../kit/conformance/conformance-options.js";
import { receiverConformance } from "../../../kit/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceReport,
} from "../../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../deliveries.js";
import { createLedger, type Ledger } from "../ledger.js";
import { listen } from "../servers.js";
import { rejectionOf } from "../thrown.js";
import type { CommonReceiverOptions } from "../receiver-options.js";

/** A receiver of this library whose handlers write into a ledger. */
export function ledgerReceiver(
  { record }: Pick<Ledger, "record"> = createLedger(),
  options: Omit<Partial<CommonReceiverOptions>, "handlers"> & { readonly secret?: string } = {},
): WebhookReceiver {
  const handle = (_record: unknown, context: { readonly id: string }) => record(context);
  return createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle, unrecognized: handle },
    logger: false,
    // Shorter than the ledger's slow handler takes.
    handlerTimeoutMs: 150,
    ...options,
  });
}

/** Runs the suite against a receiver on a server, with every probe that `options` do not remove. */
export async function runSuiteOnListener(
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

/** The ids of the cases with this result. */
export function idsOf(
  { results }: ConformanceReport,
  wanted: ConformanceReport["results"][number]["result"],
): string[] {
  return results.filter(({ result }) => result === wanted).map(({ id }) => id);
}

/** A receiver as a function. */
export type Answering = (request: Request) => Response | Promise<Response>;

/** What a receiver answers to a request. */
export async function answerTo(request: Request, receiver: WebhookReceiver) {
  const { method, headers } = request;
  const body = new Uint8Array(await request.arrayBuffer());
  return receiver.receive({ method, headers, body });
}

function casesOf(options: Partial<ConformanceOptions>, ids?: readonly string[]) {
  const target = options.target ?? ledgerReceiver();
  const cases = receiverConformance({ target, secret: TEST_SECRET, ...options });
  return cases.filter(({ id }) => ids?.includes(id) ?? true);
}

/** Runs every case, or those with the given ids. */
export function runSuite(options: Partial<ConformanceOptions>, ids?: readonly string[]) {
  return runConformance(casesOf(options, ids));
}

/** Runs one case and returns its failure. */
export async function failureOf(id: string, options: Partial<ConformanceOptions>) {
  const failure = await rejectionOf(casesOf(options, [id])[0]?.run ?? (() => undefined));
  if (!(failure instanceof ConformanceFailure)) throw new Error(`${id} did not fail`);
  return failure;
}

/** A receiver that answers the same to everything. */
export const answering =
  (status: number, body = "{}"): Answering =>
  () =>
    new Response([204, 205, 304].includes(status) ? null : body, { status });

/** The cases of idempotency that a receiver without a memory of ids fails. */
export const HANDLES_DUPLICATES = [
  "duplicate_handled_once",
  "retry_with_new_signature",
  "duplicate_by_id_alone",
  "duplicate_after_others",
  "concurrent_duplicates_handled_once",
  "ten_failures_sent_again",
  "retries_at_once_after_failure",
  "late_handler_counts",
  "late_failure_released",
  "hang_up",
  "refusal_forgets_nothing",
  "late_effects",
];
