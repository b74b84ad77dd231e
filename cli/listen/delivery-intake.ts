import type { IncomingMessage, ServerResponse } from "node:http";
import { writeAnswer, type WritableAnswer } from "../../adapters/http/node-answer.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { bytesOfBody, type WebhookRequest, UnreadableBody } from "../../src/delivery/request.js";
import type { HeaderLine } from "../../kit/sending/wire.js";
import { linesOfRawHeaders, type Forwarded, type Forwarder } from "./forwarder.js";
import type { Verification, VerifyingReceiver } from "./verifying-receiver.js";

/** A request and its result. */
export interface Intake {
  readonly at: Date;
  /** Every header line in its order. */
  readonly lines: readonly HeaderLine[];
  /** Undefined if it could not be read. */
  readonly body: Uint8Array | undefined;
  /** How many bytes were received. */
  readonly bytes: number;
  readonly verification: Verification;
  /** The app's answer, or the reason why there is none. Undefined if nothing was forwarded. */
  readonly forwarded: Forwarded | undefined;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
}

/** The answer when the app gives none that can be forwarded: the gateway then sends the delivery again. */
const APP_SILENT = {
  status: 503,
  headers: { "content-type": "application/json", "retry-after": "10" },
  body: '{"error":{"code":"APP_UNAVAILABLE","message":"The app gave no answer that can be forwarded."}}',
} as const;

/**
 * Takes each request of the server: verifies it and forwards it to the app, also a bad one. The app decides
 * the answer. Without an app the receiver decides it.
 */
export class DeliveryIntake {
  readonly #receiver: VerifyingReceiver;
  readonly #forwarder: Forwarder | undefined;
  readonly #onIntake: (intake: Intake) => void;

  constructor(
    receiver: VerifyingReceiver,
    forwarder: Forwarder | undefined,
    onIntake: (intake: Intake) => void,
  ) {
    this.#receiver = receiver;
    this.#forwarder = forwarder;
    this.#onIntake = onIntake;
  }

  /** Answers one request. */
  answer(req: IncomingMessage, res: ServerResponse): void {
    // One adapter per request, to have the raw headers: Node's parsed headers join or drop a header that is
    // sent twice.
    const lines = linesOfRawHeaders(req.rawHeaders);
    const receive = async (request: WebhookRequest): Promise<WebhookResponse> => {
      const intake = await this.#take(request, lines);
      this.#onIntake(intake);
      // Written before the adapter writes, which then does nothing: an app's answer may be any bytes.
      if (intake.forwarded) writeAnswer(req, res, passedOn(intake.forwarded));
      return intake.verification.response;
    };
    nodeHandler({ ...this.#receiver.receiver, receive })(req, res);
  }

  async #take(request: WebhookRequest, lines: readonly HeaderLine[]): Promise<Intake> {
    const at = new Date();
    const startedAt = performance.now();
    const verification = await this.#receiver.verify(request);
    const { outcome, status } = verification.response;
    const read = receivedOf(request);
    const isDelivery = outcome !== "method_not_allowed" && outcome !== "reachable";
    const body = isDelivery ? read.body : undefined;
    const forwarded = body && (await this.#forwarder?.forward(lines, body));
    return {
      at,
      lines,
      body,
      bytes: read.bytes,
      verification,
      forwarded,
      status: forwarded ? passedOn(forwarded).status : status,
      durationMs: performance.now() - startedAt,
    };
  }
}

function receivedOf({ body }: WebhookRequest): Pick<Intake, "body" | "bytes"> {
  if (body instanceof UnreadableBody) return { body: undefined, bytes: body.bytes };
  const read = bytesOfBody(body);
  return { body: read, bytes: read.length };
}

function passedOn(forwarded: Forwarded): WritableAnswer {
  if ("error" in forwarded) return APP_SILENT;
  const { status, headers, body } = forwarded;
  // Keep only the headers that say how to read the answer: the others belong to the app's connection.
  const kept = ["content-type", "retry-after", "allow"].flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return { status, headers: Object.fromEntries(kept), body };
}
