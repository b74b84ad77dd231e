import {
  createWebhookReceiver,
  type DeliveryContext,
  type WebhookOutcome,
  type SecretOption,
  type WebhookReceiver,
} from "../../../src/index.js";
import type { WebhookTarget } from "../../../kit/sending/target.js";
import {
  linesOf,
  outcomeOf,
  type WireAnswer,
  type WireRequest,
} from "../../../kit/sending/wire.js";
import { NOW_MS, TEST_SECRET, delivery, type DeliveryOverrides } from "../deliveries.js";
import type { CommonReceiverOptions } from "../receiver-options.js";

/** The answer that the sender gets. Its duration is not compared. */
export type AdapterAnswer = Omit<WireAnswer, "ms">;

/** A receiver mounted on an adapter, and a client to it. */
export interface MountedAdapter {
  /** The target for the testing kit: a URL if it is a server of HTTP/1.1. */
  readonly target: WebhookTarget;
  send(request: WireRequest): Promise<AdapterAnswer>;
  /** How many connections the client has made, where there are any. */
  connections?(): number;
  close(): Promise<void>;
}

/** An adapter on a server, or on none. */
export interface AdapterTarget {
  readonly name: string;
  /** Its platform passes on only the last value of a header that was sent twice. */
  readonly hidesRepeats?: boolean;
  open(receiver: WebhookReceiver): Promise<MountedAdapter>;
}

/** One requirement on every adapter. */
export interface AdapterCase {
  /** Stable. */
  readonly id: string;
  readonly title: string;
  /** Rejects if the target breaks the requirement. Resolves to its answers, the same for every target. */
  run(target: AdapterTarget): Promise<readonly AdapterAnswer[]>;
}

/** The receiver of a case. */
export interface ExchangeOptions extends Omit<Partial<CommonReceiverOptions>, "handlers"> {
  readonly secret?: SecretOption;
  /** Runs for alarms, and for events unless `alarmsOnly`. */
  readonly handler?: (context: DeliveryContext) => unknown;
  readonly alarmsOnly?: boolean;
}

/** An expected answer. */
export interface Expected {
  readonly status: number;
  readonly outcome: WebhookOutcome;
  /** Seconds. Absent if there must be no such header. */
  readonly retryAfter?: string;
}

/** One target while a case runs on it. */
export interface Exchange {
  readonly receiver: WebhookReceiver;
  /** One context per call of the handler. */
  readonly runs: readonly DeliveryContext[];
  /** Sends a request and checks its answer. */
  readonly expect: (request: WireRequest, expected: Expected) => Promise<void>;
  readonly send: (request: WireRequest) => Promise<AdapterAnswer>;
  readonly connections: () => number | undefined;
}

/** The headers of an answer that the gateway acts on. */
const COMPARED_HEADERS = ["content-type", "retry-after", "allow"];
const STATUS_WITHOUT_LENGTH = 204;

/** Mounts a receiver on `target`, lets `use` talk to it, and returns every answer in order. */
export async function exchangeWith(
  target: AdapterTarget,
  { secret = TEST_SECRET, handler, alarmsOnly = false, ...options }: ExchangeOptions,
  use: (exchange: Exchange) => Promise<void>,
): Promise<readonly AdapterAnswer[]> {
  const runs: DeliveryContext[] = [];
  const handle = (_record: unknown, context: DeliveryContext): unknown => {
    runs.push(context);
    return handler?.(context);
  };
  const receiver = createWebhookReceiver({
    secret,
    handlers: { new_alarm: handle, ...(alarmsOnly ? {} : { delete_my_data_event: handle }) },
    logger: false,
    now: () => NOW_MS,
    ...options,
  });
  const mounted = await target.open(receiver);
  const answers: AdapterAnswer[] = [];

  const send = async (request: WireRequest): Promise<AdapterAnswer> => {
    const { status, headers, body } = await mounted.send(request);
    const compared = COMPARED_HEADERS.flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]] as const],
    );
    if (status === STATUS_WITHOUT_LENGTH)
      ensureEqual("content-length of 204", headers["content-length"], undefined);
    // No server sends a body in answer to HEAD, even if the adapter returns one.
    const answer = {
      status,
      headers: Object.fromEntries(compared),
      body: request.method === "HEAD" ? "" : body,
    };
    answers.push(answer);
    return answer;
  };

  try {
    await use({
      receiver,
      runs,
      send,
      expect: async (request, expected) => judge(await send(request), expected),
      connections: () => mounted.connections?.(),
    });
  } finally {
    await mounted.close();
  }
  return answers;
}

/** Throws unless `answer` is as `expected` describes. */
function judge(answer: AdapterAnswer, { status, outcome, retryAfter }: Expected): void {
  ensureEqual(`status of ${outcome}`, answer.status, status);
  const type = outcome === "reachable" ? undefined : "application/json";
  ensureEqual("content-type", answer.headers["content-type"], type);
  ensureEqual("retry-after", answer.headers["retry-after"], retryAfter);
  const allow = status === 204 || status === 405 ? "GET, HEAD, OPTIONS, POST" : undefined;
  ensureEqual("allow", answer.headers["allow"], allow);
  if (answer.body !== "") ensureEqual("outcome", outcomeOf(answer.body), outcome);
}

/** Throws if two plain values differ. */
export function ensureEqual(what: string, actual: unknown, expected: unknown): void {
  if (Object.is(actual, expected)) return;
  throw new Error(`${what}: expected ${String(expected)}, got ${String(actual)}`);
}

/** A signed delivery as a request. */
export async function signed(overrides: DeliveryOverrides = {}): Promise<WireRequest> {
  const { method, headers, body } = await delivery(overrides);
  return { method, headers: linesOf(headers), body: bytesOf(body) };
}

/** `request` with one header changed: one line per value, so no value leaves the header out. */
export function withHeader(
  request: WireRequest,
  name: string,
  ...values: readonly string[]
): WireRequest {
  const others = request.headers.filter(([other]) => other !== name);
  return { ...request, headers: [...others, ...values.map((value) => [name, value] as const)] };
}

/** The value of a header that `request` has. */
export function headerOf({ headers }: WireRequest, name: string): string {
  const line = headers.find(([other]) => other === name);
  if (line === undefined) throw new Error(`the request has no ${name}`);
  return line[1];
}

/** The UTF-8 bytes of a text. */
export function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}
