import { LINGER_MS, type BodyLimits } from "./body-limits.js";
import { UploadBuffer } from "./upload-buffer.js";
import { within, DeadlineError } from "../../src/common/timers.js";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/** A `Request` whose body was read. */
export interface FetchRequest extends FetchBody {
  readonly method: string;
  readonly headers: WebhookHeaders;
  /** `"body"`: what a middleware has kept. */
  readonly bodySource: "wire" | "body";
  /** Whether the sender has hung up. */
  readonly isDisconnected?: () => boolean;
}

/** The body of a `Request`. */
interface FetchBody {
  /** Undefined if the sender has hung up: there is no one to answer. */
  readonly body: Uint8Array | string | UnreadableBody | undefined;
  /** Reads the rest of an upload that goes on, and drops it. */
  readonly discard?: () => Promise<void>;
}

const EMPTY = new Uint8Array(0);
const WHAT = "the body";
/** Enough for what waits in the socket: the loop of events turns at least once. */
const READING_MS = 1;
const HOST_LIMIT = "Raise the host's limit (BODY_SIZE_LIMIT).";
const NO_WEB_STREAM = "The body is no ReadableStream: pass a Request of the Fetch API.";

/** Reads a `Request` within the limits. If other code has read its body, the log gives `advice`. */
export async function readFetchRequest(
  request: Request,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  const { method, headers } = request;
  // Reads the signal only on demand: on @hono/node-server it takes time to make.
  const isDisconnected = () => request.signal.aborted;
  const bodySource = "wire";
  return {
    method,
    headers,
    isDisconnected,
    bodySource,
    ...(await readBody(request, limits, advice)),
  };
}

/** The exact body of a `Request`, from its stream. */
async function readBody(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs, uploadTimeoutMs }: BodyLimits,
  advice: string,
): Promise<FetchBody> {
  // The receiver needs the body of a POST only.
  if (request.method !== "POST") return { body: EMPTY };
  if (request.bodyUsed || request.body?.locked === true) {
    return { body: new UnreadableBody("body_consumed", 0, advice) };
  }
  if (request.body === null) return { body: EMPTY };
  // The `Request` of node-fetch has a Node stream here.
  if (typeof (request.body as Partial<ReadableStream>).getReader !== "function") {
    return { body: new UnreadableBody("body_consumed", 0, NO_WEB_STREAM) };
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  const received = new UploadBuffer();
  let bytes = 0;
  const endsAt = performance.now() + uploadTimeoutMs;
  const isDeclaredTooLarge = Number(request.headers.get("content-length") ?? 0) > maxBodyBytes;
  try {
    while (!isDeclaredTooLarge) {
      const leftMs = endsAt - performance.now();
      // Otherwise an upload that drips on would have another moment for each of its bytes.
      if (leftMs <= 0) return { body: new UnreadableBody("body_timeout", bytes) };
      const chunk = reader.read();
      // A process that stood still runs its timers before it reads what has arrived meanwhile.
      const { done, value } = await within(Math.min(bodyTimeoutMs, leftMs), WHAT, chunk).catch(() =>
        within(READING_MS, WHAT, chunk),
      );
      if (done) return { body: received.bytes() };
      bytes += value.length;
      if (bytes > maxBodyBytes) break;
      received.add(value);
    }
  } catch (error) {
    if (error instanceof DeadlineError) return { body: new UnreadableBody("body_timeout", bytes) };
    // SvelteKit ends a stream at its own limit with an error of this status.
    const isCutByHost = (error as { readonly status?: unknown } | undefined)?.status === 413;
    return {
      body: isCutByHost ? new UnreadableBody("body_too_large", bytes, HOST_LIMIT) : undefined,
    };
  }
  return {
    body: new UnreadableBody("body_too_large", bytes),
    discard: () => discard(reader),
  };
}

async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const upload = (async () => {
    while (!(await reader.read()).done);
  })();
  try {
    await within(LINGER_MS, "the rest of the body", upload);
  } catch {
    // The sender hung up, or keeps uploading. Not awaited: the stream of a cloned request is cancelled
    // only when that of the clone is too.
    void reader.cancel().catch(() => undefined);
  }
}
