/** The first bytes of an answer's body. */
export interface AnswerBody {
  readonly body: string;
  /** True where the body goes on: the rest was not read. */
  readonly isCut: boolean;
}

/** Gathers a body up to a bound. */
export interface BodyCollector {
  /** Takes the next piece; false where the bound is passed and nothing more is wanted. */
  readonly add: (piece: Uint8Array) => boolean;
  readonly end: () => AnswerBody;
}

/** What is kept of an answer: nobody reads more of it, and a server may send without end. */
export const MAX_ANSWER_BYTES = 65_536;

/** Makes a collector of at most `maxBytes`. */
export function collectBody(maxBytes: number): BodyCollector {
  const pieces: Uint8Array[] = [];
  let room = maxBytes;
  let isCut = false;
  return {
    add(piece) {
      pieces.push(piece.subarray(0, room));
      isCut ||= piece.length > room;
      room -= Math.min(piece.length, room);
      return !isCut;
    },
    end: () => ({
      // As a stream, which leaves out the beginning of a character that the cut has parted.
      body: new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(pieces), {
        stream: isCut,
      }),
      isCut,
    }),
  };
}
