import type { BodyReading, CapturedBody } from "./captured-body.js";

const CR = 0x0d;
const LF = 0x0a;
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);
const BLANK = [0x20, 0x09, LF, CR];

/** Bodies with the changes undone that editors, shells and text-mode transfers make at ends and line ends. */
export function* bodyEdits({ bytes, contentLength }: CapturedBody): Generator<BodyReading> {
  const isMarked = startsWith(bytes, BOM);
  yield* newlinesAtEnd(bytes);
  if (isMarked) {
    yield {
      body: bytes.subarray(BOM.length),
      code: "body_bom",
      message: "The captured body begins with a byte order mark that was not signed.",
    };
  } else {
    yield {
      body: Buffer.concat([BOM, bytes]),
      code: "body_bom",
      message: "The signed body begins with a byte order mark, which the captured one has lost.",
    };
  }
  const trimmed = trim(isMarked ? bytes.subarray(BOM.length) : bytes);
  if (trimmed.length < bytes.length) {
    yield {
      body: trimmed,
      code: isMarked ? "body_bom" : "body_whitespace",
      message:
        "The captured body has white space or a byte order mark at an end that was not signed.",
    };
  }
  yield* lineEnds(bytes);
  if (contentLength !== undefined && contentLength < bytes.length) {
    yield {
      body: bytes.subarray(0, contentLength),
      code: "body_extra_bytes",
      message: `The captured body continues after the ${contentLength} bytes that Content-Length declares and that were signed.`,
    };
  }
  yield {
    body: new Uint8Array(0),
    code: "body_signed_empty",
    message: "The signature is over an empty body.",
  };
}

function* newlinesAtEnd(bytes: Uint8Array): Generator<BodyReading> {
  const code = "body_trailing_newline";
  const last = bytes.at(-1);
  if (last === LF) {
    const end = bytes.at(-2) === CR ? -2 : -1;
    const message = "The captured body ends with a newline that was not signed.";
    yield { body: bytes.subarray(0, end), code, message };
    const blank = bytes.findLastIndex((byte) => byte !== LF && byte !== CR);
    const several = "The captured body ends with several newlines that were not signed.";
    yield { body: bytes.subarray(0, blank + 1), code, message: several };
  }
  for (const end of ["\n", "\r\n"]) {
    yield {
      body: Buffer.concat([bytes, Buffer.from(end)]),
      code,
      message: "The signed body ends with a newline, which the captured one has lost.",
    };
  }
}

function* lineEnds(bytes: Uint8Array): Generator<BodyReading> {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return;
  const code = "body_line_ends";
  // In Latin-1 each byte is one character, so nothing is lost on the way back.
  const text = Buffer.from(bytes).toString("latin1");
  const unix = text.replaceAll("\r\n", "\n");
  const changed: readonly (readonly [text: string, message: string])[] = [
    [unix, "The line ends became CRLF; they were signed as LF."],
    [unix.replaceAll("\n", "\r\n"), "The line ends became LF; they were signed as CRLF."],
    [unix.replaceAll("\r", "\n"), "The line ends became CR; they were signed as LF."],
    [text.replace(/[\r\n]+/g, ""), "Line breaks were inserted that were not signed."],
  ];
  for (const [one, message] of changed) {
    if (one !== text) yield { body: Buffer.from(one, "latin1"), code, message };
  }
}

function startsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return beginning.every((byte, at) => bytes[at] === byte);
}

function trim(bytes: Uint8Array): Uint8Array {
  const isText = (byte: number): boolean => !BLANK.includes(byte);
  const start = bytes.findIndex(isText);
  return start === -1
    ? bytes.subarray(0, 0)
    : bytes.subarray(start, bytes.findLastIndex(isText) + 1);
}
