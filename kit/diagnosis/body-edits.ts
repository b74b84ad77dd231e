import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";

const CR = 0x0d;
const LF = 0x0a;
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);
const BLANK = [0x20, 0x09, LF, CR];

const TRIMMED =
  "The captured body has white space or a byte order mark at an end that was not signed.";

/** The changes that editors, shells and text-mode transfers make at ends and line ends. */
export const BODY_EDITS: Changes<CapturedBody> = {
  body_trailing_newline: {
    "The captured body ends with a newline that was not signed.": ({ bytes }) =>
      withoutNewline(bytes),
    "The captured body ends with several newlines that were not signed.": ({ bytes }) => {
      const last = bytes.findLastIndex((byte) => byte !== LF && byte !== CR);
      return bytes.at(-1) === LF ? bytes.subarray(0, last + 1) : undefined;
    },
    "The signed body ends with a newline, which the captured one has lost.": ({ bytes }) =>
      ["\n", "\r\n"].map((end) => Buffer.concat([bytes, Buffer.from(end)])),
  },
  body_bom: {
    "The captured body begins with a byte order mark that was not signed.": ({ bytes }) =>
      isMarked(bytes) ? bytes.subarray(BOM.length) : undefined,
    "The signed body begins with a byte order mark, which the captured one has lost.": ({
      bytes,
    }) => (isMarked(bytes) ? undefined : Buffer.concat([BOM, bytes])),
    [TRIMMED]: ({ bytes }) => (isMarked(bytes) ? trim(bytes.subarray(BOM.length)) : undefined),
  },
  body_whitespace: {
    [TRIMMED]: ({ bytes }) => {
      const trimmed = trim(bytes);
      return trimmed.length < bytes.length && !isMarked(bytes) ? trimmed : undefined;
    },
  },
  body_line_ends: {
    "The line ends became CRLF; they were signed as LF.": (body) =>
      changedLines(body, (text) => text.replaceAll("\r\n", "\n")),
    "The line ends became LF; they were signed as CRLF.": (body) =>
      changedLines(body, (text) => text.replace(/\r?\n/g, "\r\n")),
    "The line ends became CR; they were signed as LF.": (body) =>
      changedLines(body, (text) => text.replace(/\r\n?/g, "\n")),
    "Line breaks were inserted that were not signed.": (body) =>
      changedLines(body, (text) => text.replace(/[\r\n]+/g, "")),
  },
  body_signed_empty: { "The signature is over an empty body.": () => "" },
};

/** The bytes without one newline at the end; undefined if there is none. */
export function withoutNewline(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.at(-1) !== LF) return undefined;
  return bytes.subarray(0, bytes.at(-2) === CR ? -2 : -1);
}

function isMarked(bytes: Uint8Array): boolean {
  return BOM.every((byte, at) => bytes[at] === byte);
}

function changedLines(
  { bytes }: CapturedBody,
  change: (text: string) => string,
): Uint8Array | undefined {
  // In Latin-1 each byte is one character, so nothing is lost on the way back.
  const text = Buffer.from(bytes).toString("latin1");
  const changed = change(text);
  return changed === text ? undefined : Buffer.from(changed, "latin1");
}

function trim(bytes: Uint8Array): Uint8Array {
  const isText = (byte: number): boolean => !BLANK.includes(byte);
  const start = bytes.findIndex(isText);
  return start === -1
    ? bytes.subarray(0, 0)
    : bytes.subarray(start, bytes.findLastIndex(isText) + 1);
}
