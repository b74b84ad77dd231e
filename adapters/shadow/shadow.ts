import type { IncomingMessage, ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { ownOptions } from "../../src/common/option-checks.js";
import { invalidOption } from "../../src/common/errors.js";
import { ignoreFailure } from "../../src/common/promises.js";
import { readDeliveryHeaders } from "../../src/delivery/headers.js";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { createWebhookReceiver } from "../../src/receiver.js";
import {
  ADVICE,
  differenceOf,
  summaryOf,
  UNJUDGED,
  type Compared,
  type ShadowCounts,
  type ShadowDifference,
} from "./comparison.js";
import type { Shadow, ShadowOptions } from "./shadow-options.js";
import { tapFetch, tapNode } from "./tap.js";

export type { ShadowCounts, ShadowDifference, ShadowReport } from "./comparison.js";
export type { Shadow, ShadowObservation, ShadowOptions } from "./shadow-options.js";

/** Comparisons that wait for an answer of the old code or of ours. More are not compared. */
const MAX_WAITING = 1_000;
/** Ids whose runs are known. */
const MAX_IDS = 10_000;
const OPTION_NAMES = ["secret", "report", "store", "timestampToleranceMs", "maxBodyBytes", "now"];
const noHandler = (): undefined => undefined;

/** What is known of a delivery that the old code observes. */
interface Observed {
  /** Runs that succeeded and were not reported. */
  runs: number;
  last: "ran" | "failed" | "not_run" | undefined;
  /** The newest attempt; undefined until it is compared. */
  compared?: Compared;
}

/**
 * Compares receiver code of your own with this library, on real traffic, before you move. The library checks each
 * request beside your code, runs no handler and answers nothing. Whatever fails in it changes nothing for your
 * code.
 *
 * @throws ConfigurationError if an option cannot work.
 * @example
 * const compare = shadow({ secret: process.env.GATEWAY_WEBHOOK_SECRET, report: console.warn });
 * app.post("/webhooks/gateway", compare.node, oldHandler);
 *
 * @experimental
 */
export function shadow(given: ShadowOptions): Shadow {
  const { report, now = Date.now, ...rest } = ownOptions("shadow", given, OPTION_NAMES);
  if (report !== undefined && typeof report !== "function") {
    throw invalidOption("report must be a function");
  }
  const receiver = createWebhookReceiver({
    ...rest,
    now,
    logger: false,
    handlers: { new_alarm: noHandler, delete_my_data_event: noHandler },
  });
  const observed = new LRUCache<string, Observed>({ max: MAX_IDS });
  const verifiedTypes = new Set<string>();
  const differences: Partial<Record<ShadowDifference, number>> = {};
  let [compared, authentic, notCompared, waiting] = [0, 0, 0, 0];
  let since: Date | undefined;

  const note = (what: Compared, difference: ShadowDifference | undefined): void => {
    if (difference === undefined) return;
    differences[difference] = (differences[difference] ?? 0) + 1;
    void ignoreFailure(() => report?.({ ...what, difference, advice: ADVICE[difference] }));
  };

  const check = (entry: Observed): void => {
    const { compared: what, last } = entry;
    if (what === undefined) return;
    if (entry.runs > 1) note(what, "ran_again");
    entry.runs = Math.min(entry.runs, 1);
    if (what.theirs.status < 200 || what.theirs.status > 299) return;
    if (last === "failed") note(what, "hidden_failure");
    else if (last === "not_run" && entry.runs === 0) note(what, "not_run");
    entry.last = undefined;
  };

  const entryOf = (id: string): Observed => {
    const entry = observed.get(id) ?? { runs: 0, last: undefined };
    observed.set(id, entry);
    return entry;
  };

  const compare = (headers: WebhookHeaders, ours: WebhookResponse, status: number): void => {
    const { outcome } = ours;
    since ??= new Date(now());
    compared += 1;
    const { id, type = "" } = readDeliveryHeaders(headers) ?? {};
    const isKnown = id !== undefined && outcome !== "signature_mismatch" && outcome !== "unsigned";
    if (isKnown) {
      authentic += 1;
      verifiedTypes.add(type);
    }
    const known = isKnown ? { id, type } : {};
    const what = { ...known, ours: { outcome, status: ours.status }, theirs: { status } };
    note(what, differenceOf(outcome, status, verifiedTypes.has(type)));
    if (!isKnown) return;
    const entry = entryOf(id);
    entry.compared = what;
    check(entry);
    // A failure that the gateway is told of belongs to this attempt alone.
    entry.last = undefined;
  };

  /** Compares when both answers are there. Never rejects. */
  const settle = async (
    headers: WebhookHeaders,
    body: Promise<Uint8Array | undefined> | undefined,
    theirs: Promise<number | undefined>,
  ): Promise<void> => {
    waiting += 1;
    try {
      const bytes = await body;
      const ours = bytes === undefined ? undefined : receiver.receive({ headers, body: bytes });
      const [answer, status] = await Promise.all([ours, theirs]);
      if (answer === undefined || status === undefined || UNJUDGED.includes(answer.outcome))
        notCompared += 1;
      else compare(headers, answer, status);
    } catch {
      notCompared += 1;
    } finally {
      waiting -= 1;
    }
  };

  /** Whether a request is compared. The gateway sends nothing but POST. */
  const isWatched = (method: string | undefined): boolean => {
    if (method !== "POST") return false;
    if (waiting < MAX_WAITING) return true;
    notCompared += 1;
    return false;
  };

  const watchNode = (request: IncomingMessage, response: ServerResponse): void => {
    const isRead = request.readableDidRead || request.readableLength > 0 || request.complete;
    const tapped = isRead ? undefined : tapNode(request, receiver.maxBodyBytes);
    const theirs = new Promise<number | undefined>((resolve) => {
      response.once("close", () => {
        // The old code may answer without reading the body.
        tapped?.stop();
        resolve(response.writableFinished ? response.statusCode : undefined);
      });
    });
    void settle(request.headers, tapped?.body, theirs);
  };

  const counts = (): ShadowCounts => ({
    since,
    compared,
    authentic,
    notCompared,
    differences: { ...differences },
  });

  return {
    node(request, response, next) {
      void ignoreFailure(() => {
        if (isWatched(request.method)) watchNode(request, response);
      });
      next();
    },
    async fetch(request, answer, context) {
      let end: (status: number | undefined) => void = noHandler;
      void ignoreFailure(() => {
        if (!isWatched(request.method)) return;
        const theirs = new Promise<number | undefined>((resolve) => (end = resolve));
        const work = settle(request.headers, tapFetch(request, receiver.maxBodyBytes), theirs);
        context?.waitUntil(work);
      });
      try {
        const response = await answer();
        end(response.status);
        return response;
      } finally {
        end(undefined);
      }
    },
    observe({ id, ran, failed = false }) {
      const entry = entryOf(id);
      if (ran && !failed) entry.runs += 1;
      entry.last = failed ? "failed" : ran ? "ran" : "not_run";
      check(entry);
    },
    counts,
    summary: () => summaryOf(counts(), now()),
  };
}
