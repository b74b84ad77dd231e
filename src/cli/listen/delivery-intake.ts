import type { RequestListener } from "node:http";
import { nodeHandler } from "../../../adapters/node.js";
import type { WebhookResponse } from "../../answer.js";
import { bytesOfBody, type WebhookRequest } from "../../request.js";
import type { HeaderLine, WireAnswer } from "../../testing/sending/wire.js";
import { UnreadableBody } from "../../unreadable-body.js";
import { linesOfRawHeaders, type Forwarder } from "./forwarder.js";
import type { Judge, Judgement } from "./judging-receiver.js";

/** A request and all that became of it. */
export interface Intake {
  readonly at: Date;
  /** Every header line, in its order. */
  readonly lines: readonly HeaderLine[];
  /** Undefined where it could not be read. */
  readonly body: Uint8Array | undefined;
  /** Bytes that were received. */
  readonly bytes: number;
  readonly judgement: Judgement;
  /** What the app answered, or why it did not; undefined where it was not asked. */
  readonly forwarded: Forwarded | undefined;
  /** HTTP status that was answered. */
  readonly status: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
}

/** What an app made of a delivery. */
export type Forwarded = WireAnswer | { readonly error: string; readonly ms: number };

/** The answer where the app gives none that can be passed on: the gateway sends the delivery again. */
const APP_SILENT = {
  status: 503,
  headers: { "content-type": "application/json", "retry-after": "10" },
  body: '{"error":{"code":"APP_UNAVAILABLE","message":"The app behind did not answer."}}',
} as const;

/**
 * Makes the listener of a server that judges each request and hands it on, whatever it is worth: the app
 * behind then decides the answer. Without an app the judge does.
 */
export function createIntake(
  { judge, receiver }: Judge,
  forwarder: Forwarder | undefined,
  onIntake: (intake: Intake) => void,
): RequestListener {
  const take = async (
    request: WebhookRequest,
    lines: readonly HeaderLine[],
  ): Promise<WebhookResponse> => {
    const at = new Date();
    const startedAt = performance.now();
    const judgement = await judge(request);
    const read = request.body instanceof UnreadableBody ? undefined : bytesOfBody(request.body);
    const body = judgement.response.outcome === "method_not_allowed" ? undefined : read;
    const forwarded = body && (await forwarder?.forward(lines, body));
    const response = forwarded ? answerOf(forwarded, judgement) : judgement.response;
    onIntake({
      at,
      lines,
      body,
      bytes: request.body instanceof UnreadableBody ? request.body.bytes : (read?.length ?? 0),
      judgement,
      forwarded,
      status: response.status,
      durationMs: performance.now() - startedAt,
    });
    return response;
  };

  return (req, res) => {
    // One adapter for each request: what it passes on are Node's headers, in which a name that is given
    // twice is joined, or one of the two is dropped.
    const lines = linesOfRawHeaders(req.rawHeaders);
    nodeHandler({ ...receiver, receive: (request) => take(request, lines) })(req, res);
  };
}

function answerOf(forwarded: Forwarded, { response: { outcome } }: Judgement): WebhookResponse {
  if ("error" in forwarded) return { ...APP_SILENT, outcome };
  const { status, headers, body } = forwarded;
  // Of the head only what says how the answer is to be read: the connection is another.
  const kept = ["content-type", "retry-after", "allow"].flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { status, headers: Object.fromEntries(kept) as Record<string, string>, body, outcome };
}
