import { ignoreFailure } from "../common/promises.js";
import type { WebhookHeaders } from "./header-values.js";

/** A request as plain values. */
export interface WebhookRequest {
  /** HTTP method. Default POST. */
  readonly method?: string | undefined;
  /** `Headers`, or a record in any letter case with strings, lists of strings or undefined. */
  readonly headers: WebhookHeaders;
  /** The exact bytes, or a string, taken as UTF-8. An adapter that could not read them passes the reason. */
  readonly body: Uint8Array | string | UnreadableBody;
  /**
   * Receives a promise for all work that continues after the answer: a handler that passed
   * `handlerTimeoutMs`, writes that the store has not taken, and what your `onOutcome` and
   * `onAuthenticDelivery` return. Needed where the platform ends a request's context with its answer,
   * as Workers do: `(work) => ctx.waitUntil(work)`. The promises never reject. Default: none.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /**
   * Whether the sender has hung up. Called when the report is made, and while the delivery waits for a
   * place. Default: unknown, not reported.
   */
  readonly isDisconnected?: (() => boolean) | undefined;
  /**
   * Where the body comes from, for the log: from the connection itself, or from what a parser in front has kept as
   * `rawBody` or `body`. Default: unknown.
   */
  readonly bodySource?: "wire" | "rawBody" | "body" | undefined;
  /** Until when the platform lets the request run. Adapters set it on AWS Lambda. Default: no limit. */
  readonly hostDeadline?: HostDeadline | undefined;
}

/**
 * Until when the platform lets one request run. A platform that ends or freezes the process with the
 * answer has one, such as AWS Lambda: nothing of a request may go on after it is answered.
 */
export interface HostDeadline {
  /**
   * The handler must have settled by then, or it is given up and its lease left to end. No handler may
   * begin later: the process was frozen meanwhile, and the gateway has its answer. By `performance.now()`.
   */
  readonly handlerUntil: number;
  /** Whole milliseconds for a claim or a handler: `ms`, or less if the deadline is nearer; 0 after it. */
  handlerMs(ms: number): number;
  /** Milliseconds for a store call after the handler: `ms`, or less. Never 0. */
  storeMs(ms: number): number;
}

/** What is read of the `context` of an invocation. */
export interface LambdaContext {
  /** Milliseconds until the function's time-out, when Lambda ends the process. */
  readonly getRemainingTimeInMillis: () => number;
}

/** How long before the function's time-out a handler is given up. Milliseconds. */
export const DEFAULT_MARGIN_MS = 1_000;
/** The longest time-out of a function. Used without a context that works, as in a call of one's own. */
export const LONGEST_MS = 900_000;

/** Milliseconds that an invocation has left. Undefined if it is not known. */
export function remainingMs(
  context: Partial<LambdaContext> | null | undefined,
): number | undefined {
  try {
    const remaining: unknown = context?.getRemainingTimeInMillis?.();
    if (Number.isFinite(remaining)) return Math.min(Math.max(Number(remaining), 0), LONGEST_MS);
  } catch {
    // Not known either.
  }
}

/** Why an adapter could not read the body. The request's outcome has the same name. */
export type UnreadableReason = "body_too_large" | "body_timeout" | "body_consumed";

/** A shared name: an adapter and a receiver may come from two copies of the package. */
const UNREADABLE_BODY = Symbol.for("identity-gateway-webhooks.UnreadableBody");

/**
 * Passed to `receive` by an adapter in place of a body that it could not read. A class, because JSON
 * cannot make an instance of it: if a parsed body is passed by mistake, its sender cannot forge one.
 */
export class UnreadableBody {
  static {
    // On the prototype, so that a printed object does not show it.
    Object.defineProperty(this.prototype, UNREADABLE_BODY, { value: true });
  }

  /** Also holds for the class of a second copy of the package in one process. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && UNREADABLE_BODY in value;
  }

  constructor(
    readonly reason: UnreadableReason,
    /** Number of bytes received before. */
    readonly bytes: number,
    /** What the operator can change, for the log. */
    readonly advice?: string,
  ) {}

  /** Whether the sender may still be uploading, so that the connection must be closed. */
  get isUnfinished(): boolean {
    return this.reason !== "body_consumed";
  }
}

const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);

const NOT_RAW = new UnreadableBody(
  "body_consumed",
  0,
  "receive({ body }) got neither bytes nor a string: pass the raw body, not what a parser made of it.",
);

/** The bytes of a body, or why there are none within `maxBodyBytes`. A missing body counts as empty. */
export function readBody(
  body: WebhookRequest["body"] | null | undefined,
  maxBodyBytes: number,
): Uint8Array | UnreadableBody {
  if (body === null || body === undefined) return EMPTY;
  if (typeof body !== "string" && !(body instanceof Uint8Array) && !isForeignBytes(body)) {
    return body instanceof UnreadableBody ? body : NOT_RAW;
  }
  // Each character takes at least one byte, so a string that is too long need not be encoded first.
  if (body.length > maxBodyBytes) return new UnreadableBody("body_too_large", body.length);
  if (typeof body !== "string") return body;
  const bytes = encoder.encode(body);
  return bytes.length > maxBodyBytes ? new UnreadableBody("body_too_large", bytes.length) : bytes;
}

/** The bytes of a body; a string is taken as UTF-8. */
export function bytesOfBody(body: Uint8Array | string): Uint8Array {
  return typeof body === "string" ? encoder.encode(body) : body;
}

/** A Uint8Array of another realm, by its tag: test runners pass them. */
function isForeignBytes(body: object): body is Uint8Array {
  return Object.prototype.toString.call(body) === "[object Uint8Array]";
}

/** A platform's function that keeps a request's context until a promise has settled. */
export type WaitUntil = (work: Promise<unknown>) => unknown;

/** Keeps the request's context alive until `work` has settled: some platforms end it with the answer. */
export function holdOpen(
  { waitUntil }: { readonly waitUntil: WaitUntil | undefined },
  work: Promise<unknown> | undefined,
): void {
  // Plain JavaScript may pass anything.
  if (typeof waitUntil !== "function" || work === undefined) return;
  void ignoreFailure(() => waitUntil(work));
}
