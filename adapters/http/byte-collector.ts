/** Puts the chunks of a body together. */
export interface ByteCollector {
  readonly add: (chunk: Uint8Array) => void;
  /** All bytes so far; of a single chunk the chunk itself. */
  readonly bytes: () => Uint8Array;
}

const EMPTY = new Uint8Array(0);

/**
 * Makes a collector. It copies into one buffer that doubles rather than keep a list: in a list, each
 * byte of an upload that comes byte by byte would take 200 bytes of memory.
 */
export function createByteCollector(): ByteCollector {
  let buffer: Uint8Array = EMPTY;
  let length = 0;
  return {
    add(chunk) {
      const needed = length + chunk.length;
      if (length === 0) {
        buffer = chunk;
      } else {
        if (needed > buffer.length) {
          const larger = new Uint8Array(Math.max(needed, buffer.length * 2));
          larger.set(buffer.subarray(0, length));
          buffer = larger;
        }
        buffer.set(chunk, length);
      }
      length = needed;
    },
    bytes: () => (length === buffer.length ? buffer : buffer.subarray(0, length)),
  };
}
