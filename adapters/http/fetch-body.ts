import type { BodyLimits } from "./body-limits.js";
import { createByteCollector } from "./byte-collector.js";
import { LINGER_MS } from "./linger.js";
import { within, DeadlineError } from "../../src/common/deadline.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/** What is read of a `Request`. */
export interface FetchBody {
  /** Undefined: the request broke off, so that there is nobody to answer. */
  readonly body: Uint8Array | string | UnreadableBody | undefined;
  /** Reads on and throws away, where the sender still uploads. */
  readonly discard?: () => Promise<void>;
}

const EMPTY = new Uint8Array(0);
const NO_WEB_STREAM =
  "The request's body is no ReadableStream: pass a Request of the Fetch API, not one of node-fetch.";

/** The exact body of a `Request`, read from its stream within the limits. */
export async function readFetchBody(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs, uploadTimeoutMs }: BodyLimits,
  advice: string,
): Promise<FetchBody> {
  // What is no POST is refused unread.
  if (request.method !== "POST") return { body: EMPTY };
  if (request.bodyUsed || request.body?.locked === true) {
    return { body: new UnreadableBody("body_consumed", 0, advice) };
  }
  if (request.body === null) return { body: EMPTY };
  // The `Request` of node-fetch has a stream of Node here.
  if (typeof (request.body as Partial<ReadableStream>).getReader !== "function") {
    return { body: new UnreadableBody("body_consumed", 0, NO_WEB_STREAM) };
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  const received = createByteCollector();
  let bytes = 0;
  const endsAt = performance.now() + uploadTimeoutMs;
  const isDeclaredTooLarge = Number(request.headers.get("content-length") ?? 0) > maxBodyBytes;
  try {
    while (!isDeclaredTooLarge) {
      const waitMs = Math.min(bodyTimeoutMs, Math.max(endsAt - performance.now(), 0));
      const { done, value } = await within(waitMs, "the body", reader.read());
      if (done) return { body: received.bytes() };
      bytes += value.length;
      if (bytes > maxBodyBytes) break;
      received.add(value);
    }
  } catch (error) {
    if (!(error instanceof DeadlineError)) return { body: undefined };
    return { body: new UnreadableBody("body_timeout", bytes) };
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
    // The sender went away, or sends on after it was answered.
    // Not waited for: where the request was cloned, it takes until the copy is cancelled too.
    void reader.cancel().catch(() => undefined);
  }
}
