import type { OutgoingHttpHeaders } from "node:http";
import { checkOption } from "../option-checks.js";
import { integerOption } from "../../src/common/option-checks.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { BodyCollector, MAX_ANSWER_BYTES } from "./body-collector.js";
import { HttpClient } from "./http-client.js";
import { readResponse } from "./http-response.js";
import {
  errorText,
  SendError,
  type Sender,
  type SenderOptions,
  type WebhookTarget,
} from "./target.js";
import { recordOf, type WireAnswer, type WireRequest } from "./wire.js";

type Answer = Omit<WireAnswer, "ms">;

/**
 * Makes the sender for a target: real HTTP for a URL, direct calls for a receiver or a function. It keeps
 * the first `maxBodyBytes` of an answer's body and does not read the rest.
 *
 * @throws ConfigurationError for a URL other than http or https, and for an invalid option.
 */
export function createSender(
  target: WebhookTarget,
  options: SenderOptions = {},
  maxBodyBytes = MAX_ANSWER_BYTES,
): Sender {
  const limit = { fallback: 30_000, min: 1, max: MAX_TIMER_MS };
  const timeoutMs = integerOption("timeoutMs", options.timeoutMs, limit);
  if (typeof target === "string" || target instanceof URL) {
    const url = httpUrl("the target", target);
    const client = new HttpClient(url, options.skipTlsVerification ?? false);
    const send = timed(callingUrl(client, maxBodyBytes), timeoutMs);
    return { send, close: () => client.close() };
  }
  const call =
    typeof target === "function" ? callingFetch(target, maxBodyBytes) : callingReceiver(target);
  return { send: timed(call, timeoutMs), close: () => undefined };
}

/** Throws `ConfigurationError` for another URL than http or https. */
export function httpUrl(name: string, given: string | URL): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  checkOption(isHttp, `${name} must be an http or https URL`);
  return url;
}

function callingUrl(client: HttpClient, maxBodyBytes: number) {
  return (request: WireRequest, signal: AbortSignal): Promise<Answer> =>
    client.send(() => {
      const req = client.open(request, framingOf(request), signal);
      const answer = readResponse(req, maxBodyBytes);
      req.end(request.body);
      return { req, answer };
    });
}

/** How the server finds the end of the body. Without these headers Node declares the length of a chunked body. */
function framingOf({ body, chunked = false }: WireRequest): OutgoingHttpHeaders {
  if (body === undefined) return {};
  return chunked ? { "transfer-encoding": "chunked" } : { "content-length": body.length };
}

function callingReceiver(target: Exclude<WebhookTarget, string | URL | ((r: Request) => unknown)>) {
  const given: unknown = target;
  const { receive } = Object(given) as typeof target;
  checkOption(
    typeof (receive as unknown) === "function",
    "the target must be a URL, a receiver or a function from Request to Response",
  );
  return ({ method, headers, body = new Uint8Array(0) }: WireRequest): Promise<Answer> =>
    receive({ method, headers: recordOf(headers), body });
}

function callingFetch(
  handle: (request: Request) => Response | Promise<Response>,
  maxBodyBytes: number,
) {
  return async (request: WireRequest, signal: AbortSignal): Promise<Answer> => {
    const response: unknown = await handle(requestOf(request, signal));
    if (!isResponse(response)) throw new Error("the target did not return a Response");
    const { status, headers, body } = response;
    const kept = await readStream(body, maxBodyBytes, signal);
    return { status, headers: Object.fromEntries(headers), ...kept };
  };
}

/** Checks members, not the class: a server framework may have its own Response class. */
function isResponse(value: unknown): value is Response {
  const { headers, body } = Object(value) as Record<string, unknown>;
  const { getReader } = Object(body) as Record<string, unknown>;
  return headers instanceof Headers && (body === null || typeof getReader === "function");
}

async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  signal: AbortSignal,
) {
  const collector = new BodyCollector(maxBytes);
  const reader = stream?.getReader();
  const cancel = (): void => {
    reader?.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", cancel);
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) break;
    if (collector.add(value)) continue;
    cancel();
    break;
  }
  signal.removeEventListener("abort", cancel);
  return collector.end();
}

/** The request as a Fetch API `Request`, which joins repeated headers. */
function requestOf({ method, headers: lines, body, chunked }: WireRequest, signal: AbortSignal) {
  const headers = new Headers();
  for (const [name, value] of lines) headers.append(name, value);
  if (body !== undefined && chunked !== true) headers.append("content-length", String(body.length));
  return new Request("http://receiver.example/", {
    method,
    headers,
    signal,
    ...(body && { body }),
  });
}

/** Wraps a call: limits its time, names its failure and measures how long it takes. */
function timed(
  call: (request: WireRequest, signal: AbortSignal) => Promise<Answer>,
  timeoutMs: number,
): Sender["send"] {
  return (request) =>
    new Promise((resolve, reject) => {
      const startedAt = performance.now();
      const abort = new AbortController();
      const timer = setTimeout(() => {
        reject(new SendError("timeout", `no answer within ${String(timeoutMs)} ms`));
        abort.abort();
      }, timeoutMs);
      const fail = (cause: unknown): void => {
        clearTimeout(timer);
        reject(new SendError("network", `the request failed: ${errorText(cause)}`, { cause }));
      };
      try {
        call(request, abort.signal)
          .then((answer) => {
            const checked = checkAnswer(answer);
            clearTimeout(timer);
            resolve({ ...checked, ms: performance.now() - startedAt });
          })
          .catch(fail);
      } catch (error) {
        fail(error);
      }
    });
}

/** Throws for an answer that no server can send: a target in this process may resolve to anything. */
function checkAnswer(answer: unknown): Answer {
  const { status, headers, body, isCut } = Object(answer) as Partial<Answer>;
  if (status === undefined || !Number.isInteger(status) || status < 100 || status > 999) {
    throw new Error("the target did not answer with a status from 100 to 999");
  }
  if (typeof body !== "string" || typeof headers !== "object" || (headers as unknown) === null) {
    throw new Error("the target gave an answer without headers or without a text body");
  }
  return { status, headers, body, ...(isCut === true ? { isCut } : {}) };
}
