// Each method names what the flawed receivers that override it may use.
import { createHmac, timingSafeEqual } from "node:crypto";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { never } from "../support/deferred.js";
import { TEST_SECRET } from "../support/deliveries.js";
import type { Ledger } from "../support/ledger.js";

/** What a receiver answers. */
export type Answer = readonly [status: number, text: string, headers?: Record<string, string>];

/** A request whose headers are well-formed. */
export interface Request {
  readonly req: IncomingMessage;
  readonly body: Buffer;
  readonly id: string;
  readonly timestamp: string;
  readonly type: string;
  readonly signature: string;
}

/** A record of a delivery, as it was parsed. */
export type Fields = Readonly<Record<string, unknown>>;

/** A field that may be no text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Why a request is refused. */
export type Refusal = "method" | "too large" | "malformed" | "mismatch" | "stale" | "another type";

/** How long a handler that fails waits for a duplicate, so that the two overlap. */
const FAILS_AFTER_MS = 300;
const MAX_BYTES = 1_048_576;

/**
 * A receiver without this library's code, as a careful partner would write it. It passes every case. A flawed
 * receiver extends it and does one thing wrong.
 */
export class RightReceiver {
  /** The ids of handled deliveries. */
  readonly handled = new Set<string>();
  /** The ids of deliveries that are being handled. */
  readonly running = new Set<string>();
  /** The ids of deliveries whose handler has failed, until they are answered. */
  readonly #failing = new Set<string>();
  readonly #handlerTimeoutMs: number;
  readonly #duplicateArrived = new Map<string, () => void>();

  /** `handlerTimeoutMs`: how long a handler may take before the gateway is told to send again. */
  constructor(
    readonly ledger: Ledger,
    handlerTimeoutMs = 550,
  ) {
    this.#handlerTimeoutMs = handlerTimeoutMs;
  }

  createServer(): http.Server {
    return http.createServer((req, res) => {
      void this.serve(req, res);
    });
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      const body = await this.readBody(req);
      answer = body === undefined ? this.refuse("too large") : await this.receive(req, body);
    } catch {
      res.destroy();
      return;
    }
    const [status, text, headers = {}] = answer;
    if (!req.complete) res.setHeader("connection", "close");
    res.writeHead(status, { "content-type": "text/plain", ...headers });
    res.end(status === 204 ? undefined : text);
  }

  /** Reads the whole body. Undefined when it is over the limit. Rejects when the upload breaks off. */
  readBody(req: IncomingMessage, maxBytes = MAX_BYTES): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      req.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= maxBytes) {
          pieces.push(piece);
          return;
        }
        req.pause();
        resolve(undefined);
      });
      req.on("end", () => resolve(Buffer.concat(pieces)));
      req.on("error", reject);
      req.on("close", () => reject(new Error("the upload broke off")));
    });
  }

  receive(req: IncomingMessage, body: Buffer): Answer | Promise<Answer> {
    if (req.method === "GET" || req.method === "HEAD") {
      return this.hasDeliveryMark(req) ? this.refuse("malformed") : [200, ""];
    }
    if (req.method !== "POST") return this.refuse("method");
    const request = this.readHeaders(req, body);
    return request === undefined ? this.refuse("malformed") : this.process(request);
  }

  /** Whether a request without a body was a delivery before something in front redirected it. */
  hasDeliveryMark({ headers }: IncomingMessage): boolean {
    return ["id", "timestamp", "signature"].some((name) => `x-webhook-${name}` in headers);
  }

  /** The request with its webhook headers. Undefined when one is missing or malformed. */
  readHeaders(req: IncomingMessage, body: Buffer): Request | undefined {
    const grammar = this.grammar();
    const id = this.header(req, "x-webhook-id");
    const timestamp = this.header(req, "x-webhook-timestamp");
    const type = this.header(req, "x-webhook-type");
    const signature = this.header(req, "x-webhook-signature");
    if (id === undefined || !grammar.id.test(id)) return undefined;
    if (timestamp === undefined || !grammar.timestamp.test(timestamp)) return undefined;
    if (type === undefined || !grammar.type.test(type)) return undefined;
    if (signature === undefined || !grammar.signature.test(signature)) return undefined;
    return { req, body, id, timestamp, type, signature };
  }

  grammar() {
    return {
      id: /^[\w.-]{1,128}$/,
      timestamp: /^[0-9]{1,12}$/,
      type: /^[\w.-]{1,128}$/,
      signature: /^v1=[0-9a-f]{64}$/i,
    };
  }

  /** A header that is sent once. */
  header({ headers }: IncomingMessage, name: string): string | undefined {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  }

  async process(request: Request): Promise<Answer> {
    if (!this.isSigned(request)) return this.refuse("mismatch", request);
    if (!this.isFresh(request)) return this.refuse("stale", request);
    let parsed: unknown;
    try {
      parsed = this.parse(request.body, request);
    } catch (error) {
      return this.unreadable(error, request);
    }
    const type = this.typeOf(parsed, request);
    if (type === undefined) return this.unknown(request);
    if (type !== request.type) return this.refuse("another type", request);
    const { alarm, event } = parsed as { alarm?: Fields; event?: Fields };
    const record = alarm ?? event ?? {};
    return this.check(record, request) ?? this.handleOnce(request, record);
  }

  isSigned(request: Request): boolean {
    return this.secrets(request).some((secret) =>
      this.matches(this.mac(secret, request), request.signature),
    );
  }

  /** The secrets that may have signed a request. */
  secrets(_request: Request): readonly string[] {
    return [TEST_SECRET];
  }

  mac(secret: string, { id, timestamp, body }: Request): Buffer {
    return hmac(secret, `v1:${timestamp}:${id}:`, body);
  }

  matches(mac: Buffer, signature: string): boolean {
    return timingSafeEqual(mac, Buffer.from(signature.slice("v1=".length), "hex"));
  }

  isFresh({ timestamp }: Request): boolean {
    return Math.abs(Date.now() / 1_000 - Number(timestamp)) <= 300;
  }

  /** The JSON of a body. Throws when it cannot be read. */
  parse(body: Buffer, _request: Request): unknown {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  }

  /** The type of a record by its content. Undefined when it is none. */
  typeOf(parsed: unknown, _request: Request): string | undefined {
    const { alarm, event } = Object(parsed) as { alarm?: unknown; event?: unknown };
    if (isFields(alarm)) return "new_alarm";
    return isFields(event) ? "delete_my_data_event" : undefined;
  }

  /** The answer to a record that the receiver does not accept. */
  check(_record: Fields, _request: Request): Answer | undefined {
    return undefined;
  }

  async handleOnce(request: Request, record: Fields): Promise<Answer> {
    const key = this.keyOf(request);
    if (this.handled.has(key)) return this.duplicate(request);
    if (this.running.has(key)) {
      this.#duplicateArrived.get(request.id)?.();
      return this.inFlight(request);
    }
    this.running.add(key);
    return Promise.race([this.run(request, key, record), this.answerLate(key)]);
  }

  /** Under which name a delivery is remembered. */
  keyOf({ id }: Request): string {
    return id;
  }

  async run(request: Request, key: string, record: Fields): Promise<Answer> {
    try {
      await this.handle(request, record);
    } catch {
      this.#failing.add(key);
      await this.overlap(request);
      this.#failing.delete(key);
      this.running.delete(key);
      return this.failed(request, key);
    }
    this.remember(key, request);
    this.running.delete(key);
    return this.done(request);
  }

  /** Does the work: throws or is slow when the suite wants it. */
  async handle({ id }: Request, _record: Fields): Promise<void> {
    await this.ledger.record({ id });
  }

  remember(key: string, _request: Request): void {
    this.handled.add(key);
  }

  /** Waits until a duplicate of a delivery arrives, or for so many milliseconds. */
  async overlap({ id }: Request, ms = FAILS_AFTER_MS): Promise<void> {
    const duplicate = new Promise<void>((resolve) => this.#duplicateArrived.set(id, resolve));
    await Promise.race([duplicate, wait(ms)]);
    this.#duplicateArrived.delete(id);
  }

  async answerLate(key: string): Promise<Answer> {
    await wait(this.#handlerTimeoutMs, undefined, { ref: false });
    // On a busy machine both timers end at once, and a handler that failed in time is answered as one.
    if (this.#failing.has(key)) await never();
    return [503, "late", { "retry-after": "10" }];
  }

  done(_request: Request): Answer {
    return [200, "handled"];
  }

  duplicate(_request: Request): Answer {
    return [200, "duplicate"];
  }

  inFlight(_request: Request): Answer {
    return [409, "in flight"];
  }

  failed(_request: Request, _key: string): Answer {
    return [500, "failed"];
  }

  refuse(reason: Refusal, _request?: Request): Answer {
    return [reason === "method" ? 405 : 409, reason];
  }

  unreadable(_error: unknown, _request: Request): Answer | Promise<Answer> {
    return [503, "unreadable"];
  }

  unknown(_request: Request): Answer {
    return [503, "unknown"];
  }
}

/** HMAC-SHA256 over the parts. */
export function hmac(secret: string, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const mac = createHmac("sha256", secret);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
