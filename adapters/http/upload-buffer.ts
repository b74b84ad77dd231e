const EMPTY = new Uint8Array(0);

/**
 * The chunks of an upload, joined in one buffer that doubles its size. A list of chunks would take 200
 * bytes of memory for each byte of an upload that arrives byte by byte.
 */
export class UploadBuffer {
  #buffer: Uint8Array = EMPTY;
  #length = 0;

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) {
      this.#buffer = chunk;
    } else {
      if (length > this.#buffer.length) {
        const larger = new Uint8Array(Math.max(length, this.#buffer.length * 2));
        larger.set(this.#buffer.subarray(0, this.#length));
        this.#buffer = larger;
      }
      this.#buffer.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** All bytes so far. A single chunk is returned as it came, without a copy. */
  bytes(): Uint8Array {
    return this.#length === this.#buffer.length
      ? this.#buffer
      : this.#buffer.subarray(0, this.#length);
  }
}
