import { textOfUtf8, type BodyReading, type CapturedBody } from "./captured-body.js";

/** The characters of Windows-1252 from 0x80 to 0x9F. All other bytes are as in Latin-1. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";
const FIRST = 0x80;

/** Bodies with the damage of a wrong character set undone. */
export function* bodyCharsets({ bytes, text }: CapturedBody): Generator<BodyReading> {
  yield* utf16(bytes);
  const isAscii = bytes.every((byte) => byte < FIRST);
  if (text !== undefined) {
    yield {
      body: Buffer.from(text, "utf16le"),
      code: "body_utf16",
      message: "The signature is over the body in UTF-16.",
    };
  }
  if (isAscii) return;
  if (text === undefined) yield* singleByte(bytes);
  else yield* otherUtf8(bytes, text);
}

/** UTF-16, as Windows PowerShell and some editors save it. */
function* utf16(bytes: Uint8Array): Generator<BodyReading> {
  const [first, second] = bytes;
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  if (bytes.length < 2 || bytes.length % 2 !== 0 || !(isBig || isLittle)) return;
  const little = isBig ? Buffer.from(bytes).swap16() : Buffer.from(bytes);
  const body = Buffer.from(little.toString("utf16le").replace(/^\uFEFF/, ""), "utf8");
  const code = "body_utf16";
  yield { body, code, message: "The capture is in UTF-16; the body was signed in UTF-8." };
  const end = body.at(-1) === 0x0a ? (body.at(-2) === 0x0d ? -2 : -1) : undefined;
  if (end === undefined) return;
  const message =
    "The capture is in UTF-16 with a newline at its end; the body was signed in UTF-8.";
  yield { body: body.subarray(0, end), code, message };
}

function* singleByte(bytes: Uint8Array): Generator<BodyReading> {
  const code = "body_charset";
  const message = "The captured body is in Latin-1 or Windows-1252; it was signed in UTF-8.";
  const latin = Buffer.from(bytes).toString("latin1");
  const windows = latin.replace(/[\u0080-\u009f]/g, (character) =>
    WINDOWS_1252.charAt(character.charCodeAt(0) - FIRST),
  );
  for (const one of [latin, windows]) yield { body: Buffer.from(one, "utf8"), code, message };
}

function* otherUtf8(bytes: Uint8Array, text: string): Generator<BodyReading> {
  const code = "body_charset";
  const single = singleBytesOf(text);
  if (single !== undefined) {
    const isDoubled = textOfUtf8(single) !== undefined;
    const message = isDoubled
      ? "The captured body was encoded to UTF-8 twice; it was signed once encoded."
      : "The body was signed in Latin-1 or Windows-1252, and the captured one is in UTF-8.";
    yield { body: single, code, message };
  }
  yield {
    body: Buffer.from(Buffer.from(bytes).toString("latin1"), "utf8"),
    code,
    message: "The signature is over the body encoded to UTF-8 twice.",
  };
  for (const form of ["NFC", "NFD"] as const) {
    const normal = text.normalize(form);
    if (normal === text) continue;
    yield {
      body: Buffer.from(normal, "utf8"),
      code: "body_normalised",
      message: `The text was signed in the Unicode normal form ${form}, and the captured one is in another.`,
    };
  }
}

/** The text in Windows-1252 or Latin-1; undefined if it has other letters. */
function singleBytesOf(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const place = unit <= 0xff ? unit : FIRST + WINDOWS_1252.indexOf(text.charAt(at));
    // indexOf returns -1 for a character that is not in the table.
    if (place < FIRST && unit > 0xff) return undefined;
    bytes[at] = place;
  }
  return bytes;
}
