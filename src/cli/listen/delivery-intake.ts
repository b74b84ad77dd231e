import type { RequestListener } from "node:http";
import { writeAnswer, type WritableAnswer } from "../../../adapters/http/node-answer.js";
import { nodeHandler } from "../../../adapters/node.js";
import type { WebhookResponse } from "../../answer/answer.js";
import { bytesOfBody, type WebhookRequest, UnreadableBody } from "../../delivery/request.js";
import type { HeaderLine } from "../../testing/sending/wire.js";
import { linesOfRawHeaders, type Forwarded, type Forwarder } from "./forwarder.js";
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
  const take = async (request: WebhookRequest, lines: readonly HeaderLine[]): Promise<Intake> => {
    const at = new Date();
    const startedAt = performance.now();
    const judgement = await judge(request);
    const { outcome, status } = judgement.response;
    const read = receivedOf(request);
    const isDelivery = outcome !== "method_not_allowed" && outcome !== "reachable";
    const body = isDelivery ? read.body : undefined;
    const forwarded = body && (await forwarder?.forward(lines, body));
    return {
      at,
      lines,
      body,
      bytes: read.bytes,
      judgement,
      forwarded,
      status: forwarded ? passedOn(forwarded).status : status,
      durationMs: performance.now() - startedAt,
    };
  };

  return (req, res) => {
    // One adapter for each request: what it passes on are Node's headers, in which a name that is given
    // twice is joined, or one of the two is dropped.
    const lines = linesOfRawHeaders(req.rawHeaders);
    const receive = async (request: WebhookRequest): Promise<WebhookResponse> => {
      const intake = await take(request, lines);
      onIntake(intake);
      // Before the adapter, which then leaves it: an answer of ours is text, and an app's any bytes.
      if (intake.forwarded) writeAnswer(req, res, passedOn(intake.forwarded));
      return intake.judgement.response;
    };
    nodeHandler({ ...receiver, receive })(req, res);
  };
}

function receivedOf({ body }: WebhookRequest): Pick<Intake, "body" | "bytes"> {
  if (body instanceof UnreadableBody) return { body: undefined, bytes: body.bytes };
  const read = bytesOfBody(body);
  return { body: read, bytes: read.length };
}

function passedOn(forwarded: Forwarded): WritableAnswer {
  if ("error" in forwarded) return APP_SILENT;
  const { status, headers, body } = forwarded;
  // Of the head only what says how the answer is to be read: the connection is another.
  const kept = ["content-type", "retry-after", "allow"].flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return { status, headers: Object.fromEntries(kept), body };
}
