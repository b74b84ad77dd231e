import { GatewayWebhookError, brandErrors } from "../../src/common/errors.js";
import type { WebhookReceiver } from "../../src/receiver.js";
import type { WireAnswer, WireRequest } from "./wire.js";

/**
 * Where deliveries are sent: a URL (any server, in any language), a receiver, or a function from
 * `Request` to `Response`. A receiver and a function are called in this process, without a network.
 *
 * @experimental
 */
export type WebhookTarget =
  | string
  | URL
  | Pick<WebhookReceiver, "receive">
  | ((request: Request) => Response | Promise<Response>);

/** Options of `createSender`. */
export interface SenderOptions {
  /**
   * How long a request waits for its answer. Milliseconds, from 1 to 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Accepts any TLS certificate, as the gateway does with `skip_ssl_verification`. Default false.
   */
  readonly skipTlsVerification?: boolean | undefined;
}

/** Sends requests to one target. */
export interface Sender {
  /** Rejects with a `SendError` when no answer arrives. */
  readonly send: (request: WireRequest) => Promise<WireAnswer>;
  /** Closes the kept connections. */
  readonly close: () => void;
}

/**
 * No answer arrived: `"timeout"`, or `"network"` when the connection failed or the target threw. `next` of a listener
 * rejects with `"timeout"` when no delivery arrives that fits.
 *
 * @experimental
 */
export class SendError extends GatewayWebhookError<"timeout" | "network"> {
  static {
    brandErrors(this, "SendError");
  }
}

/** Returns a `SendError` unchanged, and wraps any other error of a connection in one. */
export function sendErrorOf(error: unknown): SendError {
  if (error instanceof SendError) return error;
  return new SendError("network", "the connection failed", { cause: error });
}

/**
 * The message of an error. A partner's code may throw any value, and a host name with several addresses
 * fails with an `AggregateError` that has no message of its own.
 */
export function errorText(error: unknown): string {
  return messageOf(error) || "no reason is given";
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if (error.message !== "") return error.message;
  return error instanceof AggregateError ? messageOf(error.errors[0]) : "";
}

/**
 * Why no answer came: the first of several reasons. Node tries every address of a host name; its error then has no
 * message, but a list with one error per address.
 */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error;
  const several = [cause, error].find((one) => one instanceof AggregateError);
  const reason: unknown = several?.errors[0] ?? cause;
  const text = reason instanceof Error && reason.message !== "" ? reason.message : message;
  // OpenSSL's own text has a thread number, a source file and a line end.
  const [, ssl] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return ssl === undefined ? text : `TLS failed: ${ssl}`;
}
