import { withoutNewline } from "./body-edits.js";
import { textOfUtf8 } from "../json-parts.js";
import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";

/** The characters of Windows-1252 from 0x80 to 0x9F. All other bytes are as in Latin-1. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";
const FIRST = 0x80;

/** The damage of a wrong character set. */
export const BODY_CHARSETS: Changes<CapturedBody> = {
  body_utf16: {
    "The capture is in UTF-16; the body was signed in UTF-8.": ({ bytes }) => fromUtf16(bytes),
    "The capture is in UTF-16 with a newline at its end; the body was signed in UTF-8.": ({
      bytes,
    }) => withoutNewline(fromUtf16(bytes) ?? bytes.subarray(0, 0)),
    "The signature is over the body in UTF-16.": ({ text }) =>
      text === undefined ? undefined : Buffer.from(text, "utf16le"),
  },
  body_charset: {
    "The captured body is in Latin-1 or Windows-1252; it was signed in UTF-8.": ({
      bytes,
      text,
    }) => {
      if (text !== undefined) return undefined;
      const latin = Buffer.from(bytes).toString("latin1");
      const windows = latin.replace(/[\u0080-\u009f]/g, (character) =>
        WINDOWS_1252.charAt(character.charCodeAt(0) - FIRST),
      );
      return [latin, windows];
    },
    "The captured body was encoded to UTF-8 twice; it was signed once encoded.": (body) => {
      const single = singleBytesOf(body);
      return single && textOfUtf8(single) !== undefined ? single : undefined;
    },
    "The body was signed in Latin-1 or Windows-1252, and the captured one is in UTF-8.": (body) => {
      const single = singleBytesOf(body);
      return single && textOfUtf8(single) === undefined ? single : undefined;
    },
    "The signature is over the body encoded to UTF-8 twice.": ({ bytes, text }) =>
      text === undefined || isAscii(bytes) ? undefined : Buffer.from(bytes).toString("latin1"),
  },
  body_normalised: {
    "The text was signed in the Unicode normal form NFC, and the captured one is in another.": (
      body,
    ) => normalised(body, "NFC"),
    "The text was signed in the Unicode normal form NFD, and the captured one is in another.": (
      body,
    ) => normalised(body, "NFD"),
  },
};

/** UTF-16, as Windows PowerShell and some editors save it, in UTF-8; undefined for another text. */
function fromUtf16(bytes: Uint8Array): Uint8Array | undefined {
  const [first, second] = bytes;
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  if (bytes.length < 2 || bytes.length % 2 !== 0 || !(isBig || isLittle)) return undefined;
  const little = isBig ? Buffer.from(bytes).swap16() : Buffer.from(bytes);
  return Buffer.from(little.toString("utf16le").replace(/^\uFEFF/, ""), "utf8");
}

function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < FIRST);
}

function normalised({ text = "" }: CapturedBody, form: "NFC" | "NFD"): string | undefined {
  const normal = text.normalize(form);
  return normal === text ? undefined : normal;
}

/** The text in Windows-1252 or Latin-1; undefined if it has other letters, or none outside ASCII. */
function singleBytesOf({ bytes, text }: CapturedBody): Uint8Array | undefined {
  if (text === undefined || isAscii(bytes)) return undefined;
  const single = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const place = unit <= 0xff ? unit : FIRST + WINDOWS_1252.indexOf(text.charAt(at));
    // indexOf returns -1 for a character that is not in the table.
    if (place < FIRST && unit > 0xff) return undefined;
    single[at] = place;
  }
  return single;
}
