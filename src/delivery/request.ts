import type { WebhookHeaders } from "./headers.js";
import { UnreadableBody } from "./unreadable-body.js";

/** A request as plain values. */
export interface WebhookRequest {
  /** HTTP method. Default POST. */
  readonly method?: string | undefined;
  /** `Headers`, or a record in any letter case with strings, lists of strings or undefined. */
  readonly headers: WebhookHeaders;
  /** The exact bytes, or a string that is taken as UTF-8; or, from an adapter, why there is neither. */
  readonly body: Uint8Array | string | UnreadableBody;
  /**
   * Takes each promise of work that goes on after the answer: a handler that ran into
   * `handlerTimeoutMs`, what the store has not taken yet, and what your `onOutcome` and
   * `onAuthenticDelivery` return. Give it where the platform ends a request's context with its answer,
   * as Workers do: `(work) => ctx.waitUntil(work)`. The promises never reject.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Whether the sender has hung up, asked when the report is made. Adapters that can know give it. */
  readonly isDisconnected?: (() => boolean) | undefined;
}

const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);

const NOT_RAW = new UnreadableBody(
  "body_consumed",
  0,
  "receive({ body }) got neither bytes nor a string: pass the raw body, not what a parser made of it.",
);

/** Whether a request is a POST, which one without a method is taken for. In any letter case. */
export function isPost(method: string | null | undefined): boolean {
  return method === "POST" || (method ?? "POST").toUpperCase() === "POST";
}

/** Whether a request asks for the URL alone, as the gateway and load balancers do. In any letter case. */
export function isProbe(method: string | null | undefined): boolean {
  const name = method?.toUpperCase();
  return name === "GET" || name === "HEAD";
}

/** The body's bytes, or why there are none within `maxBodyBytes`. No body at all is an empty one. */
export function readBody(
  body: WebhookRequest["body"] | null | undefined,
  maxBodyBytes: number,
): Uint8Array | UnreadableBody {
  if (body === null || body === undefined) return EMPTY;
  if (!isRaw(body)) return body instanceof UnreadableBody ? body : NOT_RAW;
  // No character takes less than a byte, so a text that is too long is not encoded first.
  if (body.length > maxBodyBytes) return new UnreadableBody("body_too_large", body.length);
  const bytes = bytesOfBody(body);
  return bytes.length > maxBodyBytes ? new UnreadableBody("body_too_large", bytes.length) : bytes;
}

/** The bytes of a body; a string is taken as UTF-8. */
export function bytesOfBody(body: Uint8Array | string): Uint8Array {
  return typeof body === "string" ? encoder.encode(body) : body;
}

/** By tag beside `instanceof`: test runners hand in a Uint8Array of another realm. */
function isRaw(body: unknown): body is Uint8Array | string {
  return (
    typeof body === "string" ||
    body instanceof Uint8Array ||
    Object.prototype.toString.call(body) === "[object Uint8Array]"
  );
}
