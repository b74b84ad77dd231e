import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import { writeAnswer, type WritableAnswer } from "../../adapters/http/node-answer.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import type { AuthenticDelivery } from "../../src/answer/observers.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../src/receiver.js";
import type { SecretFunction, SecretOption } from "../../src/signature/secrets.js";
import { bytesOfBody, type WebhookRequest, UnreadableBody } from "../../src/delivery/request.js";
import { recordOf, type HeaderLine } from "../sending/wire.js";
import type { Forwarded, Forwarder } from "./forwarder.js";

/** The receiver's answer to a request, and the delivery if it is authentic. */
interface Verification {
  readonly response: WebhookResponse;
  /** Undefined if the request is not authentic. Holds the request itself: its body is personal data. */
  readonly authentic: AuthenticDelivery | undefined;
}

/** Options of `DeliveryIntake`. */
export interface IntakeOptions {
  /** Undefined: unsigned deliveries are accepted. */
  readonly secret: Exclude<SecretOption, SecretFunction> | undefined;
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
  readonly forwarder: Forwarder | undefined;
}

/** A request and its result. */
export interface Intake {
  readonly at: Date;
  readonly method: string | undefined;
  /** Every header line in its order. */
  readonly lines: readonly HeaderLine[];
  /** Undefined if it could not be read. */
  readonly body: Uint8Array | undefined;
  /** How many bytes were received. */
  readonly bytes: number;
  readonly verification: Verification;
  /** The app's answer, or the reason why there is none. Undefined if nothing was forwarded. */
  readonly forwarded: Forwarded | undefined;
  /** Whether `failNext` decided the answer. */
  readonly fails: boolean;
  /** Undefined if the connection was closed without one. */
  readonly answer: WritableAnswer | undefined;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
  /** The body that was changed, if the request was made here from another one. */
  readonly originalBody: Uint8Array | undefined;
  /** Whether it was sent from here. */
  readonly isOwn: boolean;
}

/** How a delivery fails on request: with 500, or with no answer at all. */
export type RequestedFailure = "500" | "no_answer";

const JSON_HEADERS = { "content-type": "application/json" };

/** The answer when the app gives none that can be forwarded: the gateway then sends the delivery again. */
const APP_SILENT: WritableAnswer = {
  status: 503,
  headers: { ...JSON_HEADERS, "retry-after": "10" },
  body: '{"error":{"code":"APP_UNAVAILABLE","message":"The app gave no answer that can be forwarded."}}',
};

const FAILED: WritableAnswer = {
  status: 500,
  headers: JSON_HEADERS,
  body: '{"error":{"code":"FAILED_ON_REQUEST","message":"The listener was asked to fail this attempt."}}',
};

/**
 * Takes each request of the server: verifies it and forwards it to the app, also a bad one. The app decides
 * the answer. Without an app it is that of a receiver, whose handlers do nothing, or fail on request.
 */
export class DeliveryIntake {
  readonly #receiver: WebhookReceiver;
  readonly #authentic = new WeakMap<WebhookRequest, AuthenticDelivery>();
  readonly #fails = new AsyncLocalStorage<boolean>();
  readonly #forwarder: Forwarder | undefined;
  readonly #onIntake: (intake: Intake) => unknown;
  #failures: readonly RequestedFailure[] = [];

  constructor(
    { secret, maxBodyBytes, forwarder }: IntakeOptions,
    onIntake: (intake: Intake) => unknown,
  ) {
    this.#forwarder = forwarder;
    this.#onIntake = onIntake;
    const handle = (): void => {
      if (this.#fails.getStore() === true) throw new Error("fails on request");
    };
    const common = {
      handlers: { new_alarm: handle, delete_my_data_event: handle },
      logger: false as const,
      maxBodyBytes,
      onAuthenticDelivery: (delivery: AuthenticDelivery) =>
        this.#authentic.set(delivery.request, delivery),
    };
    this.#receiver = createWebhookReceiver(
      secret === undefined ? { ...common, acceptUnsignedDeliveries: true } : { ...common, secret },
    );
  }

  /** The next `count` authentic deliveries fail, and reach no app. Replaces what was requested before. */
  failNext(count: number, how: RequestedFailure): void {
    this.#failures = Array<RequestedFailure>(count).fill(how);
  }

  /** Answers one request. Settles with the response. */
  answer(req: IncomingMessage, res: ServerResponse): unknown {
    // One adapter per request, to have the raw headers: Node's parsed headers join or drop a header that is
    // sent twice.
    const lines = linesOfRawHeaders(req.rawHeaders);
    const receive = async (request: WebhookRequest): Promise<WebhookResponse> => {
      const intake = await this.#take(request, lines);
      this.#onIntake(intake);
      const { response } = intake.verification;
      // Written before the adapter writes, which then does nothing: an app's answer may be any bytes.
      if (intake.answer === undefined) req.destroy();
      else if (intake.answer !== response) writeAnswer(req, res, intake.answer);
      return response;
    };
    return nodeHandler({ ...this.#receiver, receive })(req, res);
  }

  /** Takes a request that is made here as if the gateway had sent it. */
  send(lines: readonly HeaderLine[], body: Uint8Array, originalBody: Uint8Array | undefined) {
    const request = { method: "POST", headers: recordOf(lines), body };
    return this.#take(request, lines, { isOwn: true, originalBody });
  }

  async #take(
    request: WebhookRequest,
    lines: readonly HeaderLine[],
    origin: Pick<Intake, "isOwn" | "originalBody"> = { isOwn: false, originalBody: undefined },
  ): Promise<Intake> {
    const at = new Date();
    const startedAt = performance.now();
    const [failure, ...later] = this.#failures;
    this.#failures = later;
    // With a failed handler the id is not remembered as handled.
    const receive = () => this.#receiver.receive(request);
    const response = await this.#fails.run(failure !== undefined, receive);
    const authentic = this.#authentic.get(request);
    const fails = failure !== undefined && authentic !== undefined;
    // What is not authentic would have been refused anyway.
    if (failure !== undefined && !fails) this.#failures = [failure, ...this.#failures];
    const { method } = request;
    const read = receivedOf(request);
    // The app gets a POST. Any other request is answered here.
    const body = method === "POST" ? read.body : undefined;
    const forwarded = fails ? undefined : body && (await this.#forwarder?.forward(lines, body));
    const failed = failure === "500" ? FAILED : undefined;
    const answer = fails ? failed : forwarded === undefined ? response : passedOn(forwarded);
    return {
      at,
      method,
      lines,
      body,
      bytes: read.bytes,
      verification: { response, authentic },
      forwarded,
      fails,
      answer,
      durationMs: performance.now() - startedAt,
      ...origin,
    };
  }
}

/** The pairs of Node's `rawHeaders`. */
function linesOfRawHeaders(raw: readonly string[]): readonly HeaderLine[] {
  return raw.flatMap((name, at) => {
    const [value] = at % 2 === 0 ? raw.slice(at + 1, at + 2) : [];
    return value === undefined ? [] : [[name, value]];
  });
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
