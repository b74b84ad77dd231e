import type http from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { MAX_ANSWER_BYTES } from "../sending/body-collector.js";
import { HttpClient } from "../sending/http-client.js";
import { readResponse } from "../sending/http-response.js";
import { openSocket } from "../sending/open-socket.js";
import { SendError } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";
import type { Delivery } from "./test-deliveries.js";

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
  send(request: Delivery, pieces?: readonly Uint8Array[]): Promise<WireAnswer> {
    return this.#client.send(() => {
      const req = this.#open(request, pieces && {});
      const answer = this.#answerTo(req);
      for (const piece of pieces ?? [request.body]) req.write(piece);
      req.end();
      return { req, answer };
    });
  }

  /** Sends `Expect: 100-continue`, and the body when the server has asked for it, or anyway after a while. */
  async sendWithExpect(request: Delivery): Promise<WireAnswer & { readonly hasAsked: boolean }> {
    const { body } = request;
    // A slow server has as much time after the body as after any other request.
    const waitMs = this.#timeoutMs / 2;
    const framing = { "content-length": body.length, expect: "100-continue" };
    const req = this.#open(request, framing, this.#timeoutMs + waitMs);
    const answer = this.#answerTo(req);
    const isAsked = new Promise((resolve) => req.once("continue", resolve)).then(() => true);
    req.flushHeaders();
    const isUnasked = wait(waitMs, false, { ref: false });
    const hasAsked = await Promise.race([isAsked, settled(answer), isUnasked]);
    req.end(body);
    return { ...(await answer), hasAsked };
  }

  /**
   * Sends the headers and half of the body, and the rest when the promise of `afterHalf` resolves. `pauseMs`: how long
   * that takes at most. The server has as much time after it as after any other request.
   */
  async sendInHalves(
    request: Delivery,
    afterHalf: () => Promise<void>,
    pauseMs: number,
  ): Promise<WireAnswer> {
    const { body } = request;
    const req = this.#open(request, undefined, this.#timeoutMs + pauseMs);
    const answer = this.#answerTo(req);
    const half = Math.floor(body.length / 2);
    const isSent = new Promise((resolve) => req.write(body.subarray(0, half), resolve));
    await Promise.race([isSent, settled(answer)]);
    await afterHalf();
    req.end(body.subarray(half));
    return answer;
  }

  /** Declares `missingBytes` more than it sends, then closes the connection. */
  async sendCutBody(request: Delivery, missingBytes: number): Promise<void> {
    const { body } = request;
    const req = this.#open(request, { "content-length": body.length + missingBytes });
    // The server may answer, refuse or do nothing. The receiver must only survive it.
    req.on("error", () => undefined);
    await new Promise((resolve) => req.once("close", resolve).write(body, resolve));
    req.destroy();
  }

  /** Sends the whole request, and closes the connection a while later without a look at the answer. */
  async sendAndHangUp(request: Delivery, afterMs: number): Promise<never> {
    const req = this.#open(request);
    req.on("error", () => undefined).on("response", (res) => res.resume());
    await new Promise<void>((resolve) => {
      req.once("close", resolve).end(request.body, () => resolve());
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
    request: Delivery,
    framing: http.OutgoingHttpHeaders = { "content-length": request.body.length },
    timeoutMs = this.#timeoutMs,
  ): http.ClientRequest {
    return this.#client.open(request, framing, AbortSignal.timeout(timeoutMs));
  }
}

/** Resolves to true when a promise is settled either way. */
function settled(promise: Promise<unknown>): Promise<true> {
  return promise.then(
    () => true,
    () => true,
  );
}

/** How long the rest of an answer may take after its status. */
const REST_MS = 500;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})/;

/** How a request line and its host are written. */
export interface RawForm {
  /** Default 1.1. */
  readonly version?: "1.0" | "1.1";
  /** The header `Host`. Default the one of the URL. Empty leaves it out, which HTTP/1.0 allows. */
  readonly host?: string;
}

/**
 * Sends a request byte for byte, also header lines that no HTTP client would write. Resolves to the first
 * answer. Rejects when the connection ends without one.
 */
export function sendRawRequest(
  url: URL,
  { timeoutMs, skipTlsVerification }: ConformanceSettings,
  { method, headers, body = new Uint8Array() }: WireRequest,
  { version = "1.1", host = url.host }: RawForm = {},
): Promise<WireAnswer> {
  const head = [
    `${method} ${url.pathname}${url.search} HTTP/${version}`,
    ...(host === "" ? [] : [`Host: ${host}`]),
    "Connection: close",
    ...authorizationLines(url),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");

  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const socket = openSocket(url, skipTlsVerification);
    let received = "";
    let receivedMs: number | undefined;
    // The socket's own time-out would start again with each byte that the server sends.
    const timer = setTimeout(
      () => socket.destroy(new SendError("timeout", `no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    socket.on("data", (data: Buffer) => {
      received += data.toString("latin1");
      if (received.length > MAX_ANSWER_BYTES) socket.destroy();
      if (receivedMs !== undefined || !STATUS_LINE.test(received)) return;
      receivedMs = performance.now() - startedAt;
      // The server should close the connection after its answer. One that does not gets no more time.
      clearTimeout(timer);
      setTimeout(() => socket.destroy(), REST_MS).unref();
    });
    // When the status has arrived, the answer counts however the connection ends.
    socket.on("error", (error: Error) => {
      if (receivedMs === undefined) reject(error);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      if (receivedMs === undefined) {
        reject(new SendError("network", "the connection ended without an answer"));
      } else resolve({ ...readAnswer(received), ms: receivedMs });
    });
    socket.write(Buffer.concat([Buffer.from(head, "latin1"), body]));
  });
}

/** The credentials of the URL, as `http.request` sends them (RFC 7617). */
function authorizationLines({ username, password }: URL): readonly string[] {
  if (username === "" && password === "") return [];
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [`Authorization: Basic ${Buffer.from(credentials).toString("base64")}`];
}

/** Reads an answer that begins with a status line. */
function readAnswer(text: string): Omit<WireAnswer, "ms"> {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", ...value] = line.split(":");
    return [name.toLowerCase(), value.join(":").trim()] as const;
  });
  const isChunked = headers.some(([name, value]) => `${name}: ${value}` === CHUNKED);
  const body = rest.join("\r\n\r\n");
  return {
    status: Number(STATUS_LINE.exec(statusLine)?.[1]),
    headers: Object.fromEntries(headers),
    body: isChunked ? ofChunks(body) : body,
  };
}

const CHUNKED = "transfer-encoding: chunked";

/** The content of the chunks of a body (RFC 9112, section 7.1), also of one that is cut off. */
function ofChunks(body: string): string {
  let content = "";
  for (let at = 0; ;) {
    const start = body.indexOf("\r\n", at) + 2;
    const size = Number.parseInt(body.slice(at, start), 16);
    if (start < 2 || !(size > 0)) return content;
    content += body.slice(start, start + size);
    at = start + size + 2;
  }
}
