import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";
import { percentDecoded, unescaped, withoutEntities } from "./peeled-text.js";

/** Limit of the decompressed size in bytes: a small compressed body can expand until memory is full. */
const MAX_OUTPUT_BYTES = 16 * 1_048_576;
const BOM = "\uFEFF";
const BASE64 = /^[0-9A-Za-z+/_\s-]{4,}={0,2}$/;
const FIELD = /^(?:raw_?|request_?)?(?:body|payload|data|message)$/i;

/** What usually happens to a body before it is verified, likely changes first. Each message says what was signed. */
export const BODY_CHANGES: Changes<CapturedBody> = {
  body_trailing_newline: {
    "The captured body ends with a newline that was not signed.": (body) => [
      linesChanged(body, /\r?\n$/, ""),
      linesChanged(body, /(?<![\r\n])[\r\n]+$/, ""),
    ],
    "The signed body ends with a newline, which the captured one has lost.": ({ bytes }) =>
      ["\n", "\r\n"].map((end) => Buffer.concat([bytes, Buffer.from(end)])),
  },
  body_bom: {
    "The captured body begins with a byte order mark that was not signed.": ({ text = "" }) =>
      text.startsWith(BOM) ? [text.slice(1), text.slice(1).trim()] : undefined,
  },
  body_whitespace: {
    "The captured body has white space at an end that was not signed.": ({ text }) => text?.trim(),
  },
  body_line_ends: {
    "The line ends became CRLF; they were signed as LF.": (body) =>
      linesChanged(body, /\r\n/g, "\n"),
    "The line ends became LF; they were signed as CRLF.": (body) =>
      linesChanged(body, /\r?\n/g, "\r\n"),
    "Line breaks were inserted that were not signed.": (body) => linesChanged(body, /[\r\n]+/g, ""),
  },
  body_compressed: {
    "The captured body is compressed; the uncompressed body was signed.": decompressed,
  },
  body_base64: {
    "The captured body is in base64; the bytes were signed.": ({ text = "", json }) => {
      const plain = typeof json === "string" ? json : text.trim();
      return BASE64.test(plain) ? Buffer.from(plain, "base64") : undefined;
    },
  },
  body_quoted: {
    "The captured body has quotes or escapes of JSON, a log or a program that were not signed.": ({
      text = "",
    }) => {
      const inner = /^\s*[bru]?(["'`])(.*)\1\s*$/s.exec(text)?.[2] ?? text;
      return [unescaped(inner), inner];
    },
  },
  body_html_escaped: {
    "The captured body contains HTML entities that were not signed.": ({ text = "" }) =>
      withoutEntities(text),
  },
  body_form_encoded: {
    "The captured body is percent-encoded or a form; its text, or one of its fields, was signed.":
      ({ text = "", json }) => {
        // A parser of forms makes a whole body the name of a field.
        const [name] = Object.keys(Object(json) as object);
        const whole = text.replace(/=$/, "");
        return [name, whole, ...percentDecoded(whole.replace(/^\w{1,64}=/, ""))];
      },
  },
  body_enveloped: {
    "The body is a field of the event that was captured, not the event.": ({ json }) =>
      Object.entries(Object(json) as object).flatMap(([name, value]: [string, unknown]) =>
        FIELD.test(name) && typeof value === "string" ? [value, Buffer.from(value, "base64")] : [],
      ),
  },
  body_charset: {
    "The captured body is in Latin-1 or Windows-1252; it was signed in UTF-8.": ({
      bytes,
      text,
    }) =>
      text === undefined ? CHARSETS.map((name) => new TextDecoder(name).decode(bytes)) : undefined,
    "The captured body was encoded to UTF-8 twice, or was signed in Latin-1 or Windows-1252.":
      singleBytesOf,
  },
  body_extra_bytes: {
    "The captured body continues behind its last brace; it was signed up to there.": ({ text }) =>
      text?.slice(0, text.lastIndexOf("}") + 1),
  },
};

/** In Latin-1 each byte is one character, so nothing is lost on the way back. */
function linesChanged({ bytes }: CapturedBody, found: RegExp, line: string): Uint8Array {
  return Buffer.from(Buffer.from(bytes).toString("latin1").replace(found, line), "latin1");
}

/** Whether the bytes begin like gzip or zlib. */
export function looksCompressed(bytes: Uint8Array): boolean {
  const [first, second = 0] = bytes;
  return (
    (first === 0x1f && second === 0x8b) || (first === 0x78 && [1, 0x9c, 0xda].includes(second))
  );
}

function decompressed({ bytes, contentEncoding }: CapturedBody): Uint8Array | undefined {
  const limit = { maxOutputLength: MAX_OUTPUT_BYTES };
  try {
    if (bytes[0] === 0x1f) return gunzipSync(bytes, limit);
    if (looksCompressed(bytes)) return inflateSync(bytes, limit);
    return contentEncoding === "br" ? brotliDecompressSync(bytes, limit) : undefined;
  } catch {
    return undefined;
  }
}

const CHARSETS = ["latin1", "windows-1252"];
/** The characters of Windows-1252 from 0x80 to 0x9F. All other bytes are as in Latin-1. */
const WINDOWS_1252 = new TextDecoder("windows-1252").decode(
  Uint8Array.from({ length: 32 }, (_, at) => 0x80 + at),
);

/** The text in Latin-1 or Windows-1252; undefined if it has other letters. */
function singleBytesOf({ text = "" }: CapturedBody): Uint8Array | undefined {
  const latin = text.replace(/[^\u0000-\u00ff]/g, (one) => {
    const at = WINDOWS_1252.indexOf(one);
    return at === -1 ? one : String.fromCharCode(0x80 + at);
  });
  return /^[\u0000-\u00ff]*$/.test(latin) ? Buffer.from(latin, "latin1") : undefined;
}
