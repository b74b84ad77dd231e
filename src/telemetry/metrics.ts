import { RETRIES, WEBHOOK_TYPES } from "../common/gateway-facts.js";
import { AUTHENTIC, REFUSALS } from "./outcome-facts.js";
import { TYPE_LABELS, type MeasuredReceiver, type TypeTally } from "./tally.js";

/** One series of a metric. Attributes are from closed sets: no id, and nothing of a body. */
export interface Series {
  readonly attributes: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Seconds or bytes, or what is counted in braces (UCUM). */
export type Unit = "s" | "By" | `{${string}}`;

/** A number that is read from the tallies when it is exported. */
export interface Metric {
  /** The name in OpenTelemetry. */
  readonly name: string;
  /** A counter only grows. */
  readonly kind: "counter" | "gauge";
  readonly unit: Unit;
  readonly description: string;
  /** How the numbers of several receivers become one. Default: their sum. */
  readonly combine?: "max";
  readonly read: (receiver: MeasuredReceiver) => readonly Series[];
}
type Reading = Omit<Metric, "kind" | "combine">;

function seriesByType(read: (tally: TypeTally, type: string) => Iterable<Series>) {
  return ({ tally: { byType } }: MeasuredReceiver): readonly Series[] =>
    TYPE_LABELS.flatMap((type) =>
      [...read(byType[type], type)].map(({ attributes, value }) => ({
        attributes: { ...attributes, type },
        value,
      })),
    );
}

/** The same without the type of requests that are not authentic. */
function seriesOfAuthentic(read: (tally: TypeTally) => Iterable<Series>) {
  return seriesByType((tally, type) => (type === "none" ? [] : read(tally)));
}

function seriesOf(name: string, counts: Readonly<Record<string, number>>): Series[] {
  return Object.entries(counts).map(([key, value]) => ({ attributes: { [name]: key }, value }));
}

const single = (value: number): Series[] => [{ attributes: {}, value }];

const COUNTERS: readonly Reading[] = [
  {
    name: "gateway_webhook.requests",
    unit: "{request}",
    description: "Requests, by outcome and webhook type",
    // A series at 0 only where the outcome can occur.
    read: seriesByType(({ requests }, type) =>
      seriesOf("outcome", requests).filter(
        ({ attributes: { outcome }, value }) =>
          value > 0 ||
          (type !== "none") === AUTHENTIC.some((one) => one === outcome) ||
          (type !== "none" && outcome === "internal_error"),
      ),
    ),
  },
  {
    name: "gateway_webhook.not_authentic",
    unit: "{request}",
    description: "Refused requests that may be the gateway's, by reason and the type they claim",
    read: seriesByType(({ notAuthentic }) => seriesOf("reason", notAuthentic)),
  },
  {
    name: "gateway_webhook.late_endings",
    unit: "{delivery}",
    description: "Handlers that ended after their handler_timeout, by how they ended",
    read: seriesOfAuthentic(({ late }) => seriesOf("outcome", late)),
  },
  {
    name: "gateway_webhook.handler.failures",
    unit: "{delivery}",
    description: "Deliveries whose handler threw or timed out, by type of the Online Data event",
    read: seriesOfAuthentic(({ handlerFailures }) => seriesOf("event_type", handlerFailures)),
  },
  {
    name: "gateway_webhook.overloaded",
    unit: "{delivery}",
    description: `Deliveries that found no place in time, by the attempt of ${String(RETRIES.attempts)} that this probably was`,
    read: ({ tally }) => seriesOf("attempt", tally.overloaded),
  },
  {
    name: "gateway_webhook.disconnected",
    unit: "{request}",
    description: "Requests whose sender had hung up before the answer",
    read: ({ tally }) => single(tally.events.disconnected),
  },
  {
    name: "gateway_webhook.recovered",
    unit: "{delivery}",
    description: "Deliveries that recoverDelivery was called for",
    read: ({ tally }) => single(tally.events.recovered),
  },
  {
    name: "gateway_webhook.last_attempts_refused",
    unit: "{delivery}",
    description: "Alarms refused at what was probably the gateway's last attempt: probably lost",
    read: ({ tally }) => single(tally.events.lastAttemptsRefused),
  },
  {
    name: "gateway_webhook.secret.matches",
    unit: "{request}",
    description:
      "Authentic requests by the secret that matched: its index, from 0, and 16 bits of its HMAC",
    read: seriesOfAuthentic(({ secretMatches }) =>
      Array.from(secretMatches, ([secret, value]) => {
        const found = secret.fingerprint();
        // A promise on the first look of a runtime without `node:crypto`.
        const isKnown = typeof found === "string" && found !== "";
        const labels = isKnown ? { secret_fingerprint: found } : {};
        return { attributes: { secret_index: String(secret.index), ...labels }, value };
      }),
    ),
  },
  {
    name: "gateway_webhook.store.failures",
    unit: "{call}",
    description: "Store calls that failed or took too long, by operation",
    read: ({ tally }) => seriesOf("operation", tally.storeFailures),
  },
  {
    name: "gateway_webhook.store.forgets",
    unit: "{warning}",
    description: "Warnings of a store that forgets handled ids within their retention, or may",
    read: ({ tally }) => single(tally.events.storeForgets),
  },
  {
    name: "gateway_webhook.drift",
    unit: "{delivery}",
    description: "Deliveries with a field or enum value that the gateway's document does not list",
    read: ({ tally }) => single(tally.events.drifted),
  },
];

/** What several receivers of a process have together is the sum. */
const AMOUNTS: readonly Reading[] = [
  {
    name: "gateway_webhook.in_flight",
    unit: "{request}",
    description: "Requests being received, and handlers that go on after handler_timeout",
    read: ({ inFlight }) => single(inFlight()),
  },
  {
    name: "gateway_webhook.waiting",
    unit: "{delivery}",
    description:
      "Deliveries that wait for a place: a connection, or a slot of maxConcurrentDeliveries",
    read: ({ waiting }) => single(waiting()),
  },
  {
    name: "gateway_webhook.completions.pending",
    unit: "{delivery}",
    description: "Handled deliveries that the store has not remembered yet",
    read: ({ completionsPending }) => single(completionsPending()),
  },
];

/** Times, and handlers, of which several receivers of a process may share a type: the largest counts. */
const LEVELS: readonly Reading[] = [
  {
    name: "gateway_webhook.refused_since",
    unit: "s",
    description:
      "Since when deliveries that come again as the gateway's do have been refused, with no authentic one of the type since, in Unix seconds; 0: none",
    read: ({ refusedSinceMs }) =>
      REFUSALS.map((type) => ({ attributes: { type }, value: refusedSinceMs(type) / 1000 })),
  },
  {
    name: "gateway_webhook.last_authentic",
    unit: "s",
    description: "When the last authentic delivery came, in Unix seconds; 0: none since the start",
    read: seriesOfAuthentic(({ lastAuthenticMs }) => single(lastAuthenticMs / 1000)),
  },
  {
    name: "gateway_webhook.last_acknowledged",
    unit: "s",
    description:
      "When the last delivery was handled, discarded or a duplicate, in Unix seconds; 0: none since the start",
    read: seriesOfAuthentic(({ lastAcknowledgedMs }) => single(lastAcknowledgedMs / 1000)),
  },
  {
    name: "gateway_webhook.started",
    unit: "s",
    description: "When the receiver was made, in Unix seconds: it changes with each restart",
    read: ({ startedAtMs }) => single(startedAtMs() / 1000),
  },
  {
    name: "gateway_webhook.handlers",
    unit: "{handler}",
    description: "Event types of the webhook type that a handler exists for, of alarms 1; 0: none",
    read: ({ handlers }) =>
      WEBHOOK_TYPES.map((type) => ({ attributes: { type }, value: handlers[type] })),
  },
];

/** Every metric of a receiver that is not a histogram. All series exist from the start, at 0. */
export const RECEIVER_METRICS: readonly Metric[] = [
  ...COUNTERS.map((one): Metric => ({ ...one, kind: "counter" })),
  ...AMOUNTS.map((one): Metric => ({ ...one, kind: "gauge" })),
  ...LEVELS.map((one): Metric => ({ ...one, kind: "gauge", combine: "max" })),
];

/** The series of receivers. Two with the same attributes become one: they would hide each other, or make the page invalid. */
export function combined(
  { read, combine }: Metric,
  receivers: readonly MeasuredReceiver[],
): readonly Series[] {
  const byKey = new Map<string, Series>();
  for (const { attributes, value } of receivers.flatMap(read)) {
    const key = JSON.stringify(attributes);
    const before = byKey.get(key)?.value ?? 0;
    byKey.set(key, {
      attributes,
      value: combine === "max" ? Math.max(before, value) : before + value,
    });
  }
  return [...byKey.values()];
}
