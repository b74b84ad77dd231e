import { ConfigurationError } from "../../common/errors.js";
import { integerOption } from "../../common/option-checks.js";
import { MAX_TIMER_MS } from "../../common/timers.js";
import { collectBody, MAX_ANSWER_BYTES } from "./answer-body.js";
import { createHttpSender } from "./http-sender.js";
import { SendError, type Sender, type SenderOptions, type Target } from "./target.js";
import { recordOf, type WireAnswer, type WireRequest } from "./wire.js";

type Answer = Omit<WireAnswer, "ms">;

/**
 * Makes the sender for a target: real HTTP for a URL, calls for a receiver or a function. Of an answer's
 * body the first `maxBodyBytes` are kept, and the rest is not read.
 *
 * @throws ConfigurationError for a URL that is none of http or https, and for an option that cannot work.
 */
export function createSender(
  target: Target,
  options: SenderOptions = {},
  maxBodyBytes = MAX_ANSWER_BYTES,
): Sender {
  const timeoutMs = integerOption("timeoutMs", options.timeoutMs, {
    fallback: 30_000,
    min: 1,
    max: MAX_TIMER_MS,
  });
  if (typeof target === "string" || target instanceof URL) {
    const { skipTlsVerification = false } = options;
    const client = createHttpSender(urlOf(target), { skipTlsVerification, maxBodyBytes });
    return { send: timed(client.send, timeoutMs), close: client.close };
  }
  const call =
    typeof target === "function" ? callingFetch(target, maxBodyBytes) : callingReceiver(target);
  return { send: timed(call, timeoutMs), close: () => undefined };
}

function urlOf(target: string | URL): URL {
  let url: URL | undefined;
  try {
    url = new URL(target);
  } catch {
    // Named below.
  }
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new ConfigurationError("invalid_option", "the target has to be an http or https URL");
}

function callingReceiver(target: Exclude<Target, string | URL | ((r: Request) => unknown)>) {
  const given: unknown = target;
  const { receive } = Object(given) as typeof target;
  if (typeof (receive as unknown) !== "function") {
    throw new ConfigurationError(
      "invalid_option",
      "the target has to be a URL, a receiver or a function from Request to Response",
    );
  }
  return ({ method, headers, body = new Uint8Array(0) }: WireRequest): Promise<Answer> =>
    receive({ method, headers: recordOf(headers), body });
}

function callingFetch(
  handle: (request: Request) => Response | Promise<Response>,
  maxBodyBytes: number,
) {
  return async (request: WireRequest, signal: AbortSignal): Promise<Answer> => {
    const response: unknown = await handle(requestOf(request, signal));
    if (!isResponse(response)) throw new Error("the target gave no Response");
    const { status, headers, body } = response;
    const kept = await readStream(body, maxBodyBytes, signal);
    return { status, headers: Object.fromEntries(headers), ...kept };
  };
}

/** By its members: a server's own class may stand in for that of the platform. */
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
  const collector = collectBody(maxBytes);
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

/** A request as the Fetch API has it: a header that is given twice is joined by it. */
function requestOf(
  { method, headers, body, chunked = false }: WireRequest,
  signal: AbortSignal,
): Request {
  const lines = headers.map(([name, value]): [string, string] => [name, value]);
  const isDeclared = body !== undefined && !chunked;
  const length: [string, string][] = isDeclared ? [["content-length", String(body.length)]] : [];
  return new Request("http://receiver.example/", {
    method,
    headers: [...lines, ...length],
    signal,
    ...(body === undefined ? {} : { body }),
  });
}

/** Bounds a call, names its failure and takes its time. */
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
        const detail = messageOf(cause) || "no reason is given";
        reject(new SendError("network", `the request failed: ${detail}`, { cause }));
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

/** Throws for what no server could have answered: a target in this process may resolve to anything. */
function checkAnswer(answer: unknown): Answer {
  const { status, headers, body, isCut } = Object(answer) as Partial<Answer>;
  if (status === undefined || !Number.isInteger(status) || status < 100 || status > 999) {
    throw new Error("the target gave no answer with a status from 100 to 999");
  }
  if (typeof body !== "string" || typeof headers !== "object" || (headers as unknown) === null) {
    throw new Error("the target gave an answer without headers or without a body of text");
  }
  return { status, headers, body, ...(isCut === true ? { isCut } : {}) };
}

/** A name with several addresses fails with an error for each, and no message of its own. */
function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  if (cause.message !== "") return cause.message;
  return cause instanceof AggregateError ? messageOf(cause.errors[0]) : "";
}
