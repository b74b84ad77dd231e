import type { IncomingMessage } from "node:http";

/** The bytes that all taps may hold at once: 64 MiB. */
const MAX_HELD_BYTES = 67_108_864;

let heldBytes = 0;

/** The bytes of one body, as long as they are not too many. */
class TappedBody {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns false if the body is too large to be tapped. */
  add(chunk: Uint8Array): boolean {
    if (this.bytes + chunk.length > this.#maxBytes) return false;
    if (heldBytes + chunk.length > MAX_HELD_BYTES) return false;
    heldBytes += chunk.length;
    this.bytes += chunk.length;
    // Copied: the old code may change the bytes that it is given.
    this.#chunks.push(chunk.slice());
    return true;
  }

  whole(): Uint8Array {
    const whole = new Uint8Array(this.bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }

  /** Frees the memory. */
  close(): void {
    this.#chunks = [];
    heldBytes -= this.bytes;
    this.bytes = 0;
  }
}

/** What `push` of Node's request is called with. */
type Push = (chunk: unknown, encoding?: BufferEncoding) => boolean;

/**
 * Sees each chunk as the parser hands it to the request, before anything reads it. So the old code may read the
 * body in any way, or not at all.
 */
export function tapNode(request: IncomingMessage, maxBytes: number) {
  const body = new TappedBody(maxBytes);
  const length = Number(request.headers["content-length"]);
  const push: Push = request.push.bind(request);
  let resolve: (bytes: Uint8Array | undefined) => void;
  const read = new Promise<Uint8Array | undefined>((settle) => (resolve = settle));
  /** Ends the tap. What has not come by then is not waited for. */
  const stop = (): void => {
    resolve(undefined);
    body.close();
    // The prototype's method is seen again.
    Reflect.deleteProperty(request, "push");
  };
  const tapped: Push = (chunk, encoding) => {
    const goesOn = chunk instanceof Uint8Array && body.add(chunk);
    // Code that counts the bytes may answer before the end comes.
    if (chunk === null || body.bytes === length) resolve(body.whole());
    if (!goesOn) stop();
    return push(chunk, encoding);
  };
  request.push = tapped;
  return { body: read, stop };
}

/** Reads a copy of the body of a `Request`. Resolves to undefined if it is too large, or cannot be read. */
export async function tapFetch(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const body = new TappedBody(maxBytes);
  try {
    const declared = Number(request.headers.get("content-length") ?? 0);
    if (request.bodyUsed || declared > maxBytes) return undefined;
    const reader = request.clone().body?.getReader();
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return body.whole();
      if (!body.add(read.value as Uint8Array)) {
        // Else the platform would keep the rest of the body for this copy.
        void reader?.cancel().catch(() => undefined);
        return undefined;
      }
    }
  } catch {
    return undefined;
  } finally {
    body.close();
  }
}
