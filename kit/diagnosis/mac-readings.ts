import { headerClue, type Clue } from "./finding.js";
import type { TextReading } from "./webhook-header-texts.js";

/** The first bytes of a MAC, with the clues about the header that it assumes. */
export interface MacReading {
  readonly mac: Uint8Array;
  readonly clues: readonly Clue[];
}

const HEADER = "X-Webhook-Signature";
const MAC_BYTES = 32;
/** Lengths in bytes of SHA-1, SHA-256, SHA-384 and SHA-512. */
const DIGEST_BYTES = [20, MAC_BYTES, 48, 64];
/** A shorter prefix would match by chance in a long search. */
const MIN_BEGINNING_BYTES = 8;
const MAX_PARTS = 8;
const MAX_LENGTH = 4_096;
const HEX = /^[0-9a-f]+$/i;
const BASE64 = /^[0-9A-Za-z+/_-]+={0,2}$/;
const PROPER = /^v1=[0-9a-f]{64}$/i;

/** The MACs that X-Webhook-Signature may contain, the correct form first. */
export function readMacs(texts: readonly TextReading[]): readonly MacReading[] {
  return texts
    .flatMap(({ text, clues }) => readText(text.slice(0, MAX_LENGTH), clues))
    .sort((one, other) => one.clues.length - other.clues.length);
}

function readText(text: string, clues: readonly Clue[]): readonly MacReading[] {
  const whole = readPart(text, clues);
  // A value with white space around it is also tried trimmed.
  if (whole.length > 0 || text.trim() !== text) return whole;
  const parts = text.split(/[,;\s]+/, MAX_PARTS).map((part) => readPart(part, clues));
  const found = parts.filter((readings) => readings.length > 0);
  const clueOf = (at: number): Clue =>
    found.length > 1
      ? headerClue("header_repeated", HEADER, `has ${found.length} values; value ${at + 1} matches`)
      : headerClue("signature_prefix", HEADER, "has other fields next to the digest");
  return found.flatMap((readings, at) =>
    readings.map(({ mac, clues }) => ({ mac, clues: [clueOf(at), ...clues] })),
  );
}

function readPart(part: string, given: readonly Clue[]): readonly MacReading[] {
  const prefix = /^(?:[A-Za-z0-9_-]{1,12}[=:,]\s*|0x)/.exec(part)?.[0] ?? "";
  const digest = part.slice(prefix.length);
  const clues = [...given];
  if (prefix !== "v1=") {
    const what = prefix === "" ? "has no v1= before the digest" : "has a prefix other than v1=";
    clues.push(headerClue("signature_prefix", HEADER, what));
  }
  if (HEX.test(digest)) return readHex(digest, clues);
  if (!BASE64.test(digest)) return [];
  const mac = Buffer.from(digest, "base64");
  if (!DIGEST_BYTES.includes(mac.length)) return [];
  return [
    {
      mac,
      clues: [...clues, headerClue("signature_encoding", HEADER, "has the digest in base64")],
    },
  ];
}

function readHex(digits: string, clues: readonly Clue[]): readonly MacReading[] {
  // An odd last digit is not a whole byte and is left out.
  const bytes = Buffer.from(digits, "hex");
  if (bytes.length < MIN_BEGINNING_BYTES) return [];
  const isExact = digits.length === 2 * bytes.length;
  const readings: MacReading[] = [];
  if (isExact && DIGEST_BYTES.includes(bytes.length)) readings.push({ mac: bytes, clues });
  if (isExact && bytes.length === MAC_BYTES) return readings;
  const what = `has ${digits.length} hexadecimal digits instead of 64; the digits in common match`;
  const mac = bytes.subarray(0, MAC_BYTES);
  return [...readings, { mac, clues: [...clues, headerClue("signature_length", HEADER, what)] }];
}

/** Whether a receiver accepts this text as a signature header. */
export function isProperSignature(text: string): boolean {
  return PROPER.test(text);
}
