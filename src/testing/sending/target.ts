import type { WebhookReceiver } from "../../receiver.js";
import type { WireAnswer, WireRequest } from "./wire.js";

/**
 * Where deliveries go: a URL (any server, in any language), a receiver, or a function from `Request` to
 * `Response`. The last two need no network.
 */
export type Target =
  | string
  | URL
  | Pick<WebhookReceiver, "receive">
  | ((request: Request) => Response | Promise<Response>);

/** Options of `createSender`. */
export interface SenderOptions {
  /**
   * When a request without an answer is given up. Milliseconds, from 1 to 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /** Takes any TLS certificate, as the gateway does with `skip_ssl_verification`. Default false. */
  readonly skipTlsVerification?: boolean | undefined;
}

/** Sends requests to one target. */
export interface Sender {
  /** Rejects with a `SendError` where no answer comes. */
  readonly send: (request: WireRequest) => Promise<WireAnswer>;
  /** Ends the connections that are kept. */
  readonly close: () => void;
}

/** No answer came. */
export class SendError extends Error {
  override readonly name = "SendError";
  /** `"timeout"`, or `"network"` where the connection failed or the target threw. */
  readonly code: "timeout" | "network";

  constructor(code: "timeout" | "network", message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An error of a sender as it is; what else may go wrong with a connection, as one of the network. */
export function sendErrorOf(error: unknown): SendError {
  if (error instanceof SendError) return error;
  return new SendError("network", "the connection failed", { cause: error });
}
