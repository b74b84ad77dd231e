/** The largest answer that is read: a list of attempts may hold bodies of up to a mebibyte each. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

/** The body of an answer as JSON. */
export type AnswerBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  | { readonly kind: "no_json" }
  | { readonly kind: "too_large" };

/** Reads the body of an answer. Rejects if the connection fails. */
export async function readAnswerBody(response: Response): Promise<AnswerBody> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) break;
    length += piece.value.length;
    if (length > MAX_ANSWER_BYTES) {
      await reader?.cancel().catch(() => undefined);
      return { kind: "too_large" };
    }
    pieces.push(piece.value);
  }
  const text = textOf(pieces);
  if (text.trim() === "") return { kind: "empty" };
  try {
    return { kind: "json", value: JSON.parse(text) as unknown };
  } catch {
    // Dropped: the message of the error quotes the body.
    return { kind: "no_json" };
  }
}

function textOf(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}
