/** How much of an answer is kept, in bytes: a server may send without end. */
export const MAX_ANSWER_BYTES = 65_536;

/** Collects the pieces of a body up to a limit. */
export class BodyCollector {
  readonly #pieces: Uint8Array[] = [];
  #room: number;
  #isCut = false;

  /** @param maxBytes How many bytes are kept. */
  constructor(maxBytes: number) {
    this.#room = maxBytes;
  }

  /** Adds the next piece. Returns false once the limit is passed: stop reading then. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece.subarray(0, this.#room));
    this.#isCut ||= piece.length > this.#room;
    this.#room -= Math.min(piece.length, this.#room);
    return !this.#isCut;
  }

  /** The body as text. `isCut`: it was longer than the limit. The rest was not read. */
  end() {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      // In streaming mode the decoder drops a last character that the cut has split.
      body: decoder.decode(Buffer.concat(this.#pieces), { stream: this.#isCut }),
      isCut: this.#isCut,
    };
  }
}
