import type http from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { HttpClient } from "../sending/http-client.js";
import { readResponse } from "../sending/http-response.js";
import { SendError } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** How long a client waits for `100 Continue` before it sends the body anyway. */
const CONTINUE_MS = 5_000;

/**
 * An HTTP client with a single connection, which it keeps as long as the server does. When the server has
 * closed the connection, it sends the request once more on a new one (RFC 9112, section 9.3.1).
 */
export class KeptConnection {
  readonly #client: HttpClient;
  readonly #timeoutMs: number;

  constructor(url: URL, { timeoutMs, skipTlsVerification }: ConformanceSettings) {
    this.#client = new HttpClient(url, skipTlsVerification, 1);
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a request. With `pieces` the body is sent as chunks of a chunked transfer. */
  send(request: WireRequest, pieces?: readonly Uint8Array[]): Promise<WireAnswer> {
    const { body = new Uint8Array(0) } = request;
    return this.#client.send(() => {
      const req = this.#open(request, pieces && {});
      const answer = this.#answerTo(req);
      for (const piece of pieces ?? [body]) req.write(piece);
      req.end();
      return { req, answer };
    });
  }

  /** Sends `Expect: 100-continue`, and the body when the server has asked for it, or anyway after a while. */
  async sendWithExpect(request: WireRequest): Promise<WireAnswer & { readonly hasAsked: boolean }> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request, { "content-length": body.length, expect: "100-continue" });
    const answer = this.#answerTo(req);
    const isAsked = new Promise((resolve) => req.once("continue", resolve)).then(() => true);
    req.flushHeaders();
    // Shorter than the time-out of the request, so that the body still arrives.
    const isUnasked = wait(Math.min(CONTINUE_MS, this.#timeoutMs / 2), false, { ref: false });
    const hasAsked = await Promise.race([isAsked, settled(answer), isUnasked]);
    req.end(body);
    return { ...(await answer), hasAsked };
  }

  /** Sends the headers and half of the body, and the rest when the promise of `afterHalf` resolves. */
  async sendInHalves(request: WireRequest, afterHalf: () => Promise<void>): Promise<WireAnswer> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request);
    const answer = this.#answerTo(req);
    const half = Math.floor(body.length / 2);
    const isSent = new Promise((resolve) => req.write(body.subarray(0, half), resolve));
    await Promise.race([isSent, settled(answer)]);
    await afterHalf();
    req.end(body.subarray(half));
    return answer;
  }

  /** Declares `missingBytes` more than it sends, then closes the connection. */
  async sendCutBody(request: WireRequest, missingBytes: number): Promise<void> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request, { "content-length": body.length + missingBytes });
    // The server may answer, refuse or do nothing. The receiver must only survive it.
    req.on("error", () => undefined);
    await new Promise((resolve) => req.once("close", resolve).write(body, resolve));
    req.destroy();
  }

  /** Sends the whole request, and closes the connection a while later without a look at the answer. */
  async sendAndHangUp(request: WireRequest, afterMs: number): Promise<never> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request);
    req.on("error", () => undefined).on("response", (res) => res.resume());
    await new Promise<void>((resolve) => {
      req.once("close", resolve).end(body, () => resolve());
    });
    await wait(afterMs);
    req.destroy();
    throw new SendError("network", `the sender hung up ${afterMs} ms after the upload`);
  }

  /** Closes the connection. */
  close(): void {
    this.#client.close();
  }

  #answerTo(req: http.ClientRequest): Promise<WireAnswer> {
    const startedAt = performance.now();
    const answer = readResponse(req).then(
      (response) => ({ ...response, ms: performance.now() - startedAt }),
      (error: unknown) => {
        // Only the time limit of `#open` aborts a request.
        const isLate = error instanceof Error && error.name === "AbortError";
        throw isLate ? new SendError("timeout", `no answer within ${this.#timeoutMs} ms`) : error;
      },
    );
    // The caller awaits it only after the body is written: an earlier rejection must not be unhandled.
    answer.catch(() => undefined);
    return answer;
  }

  #open(
    request: WireRequest,
    framing: http.OutgoingHttpHeaders = { "content-length": request.body?.length ?? 0 },
  ): http.ClientRequest {
    return this.#client.open(request, framing, AbortSignal.timeout(this.#timeoutMs));
  }
}

/** Resolves to true when a promise is settled either way. */
function settled(promise: Promise<unknown>): Promise<true> {
  return promise.then(
    () => true,
    () => true,
  );
}
