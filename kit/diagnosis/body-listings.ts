import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";

/** A text form of the bytes: base64, hexadecimal, or a list of numbers. */
export const BODY_LISTINGS: Changes<CapturedBody> = {
  body_base64: {
    "The captured body is in base64; the bytes were signed.": ({ text = "", json }) => {
      const plain = typeof json === "string" ? json : text.trim();
      const isBase64 = /^[0-9A-Za-z+/_\s-]{4,}={0,2}$/.test(plain);
      return isBase64 ? Buffer.from(plain, "base64") : undefined;
    },
  },
  body_hex: {
    "The captured body is in hexadecimal; the bytes were signed.": ({ text = "" }) => {
      const bare = text.trim();
      const hex = /^<Buffer ([0-9a-f ]+)>$/.exec(bare)?.[1] ?? bare.replace(/^\\x/, "");
      const digits = hex.replace(/[\s:]+/g, "");
      return /^(?:[0-9a-f]{2})+$/i.test(digits) ? Buffer.from(digits, "hex") : undefined;
    },
  },
  body_bytes_listed: {
    "The captured body is a list of byte values, as a Buffer looks in JSON or text.": ({
      text = "",
      json,
    }) => bytesOfList(json) ?? bytesOfList(numbersOf(text.trim())),
  },
};

/** The text of a Uint8Array: numbers separated by commas. */
function numbersOf(text: string): unknown {
  return /^[0-9]{1,3}(?:\s*,\s*[0-9]{1,3})+$/.test(text) ? text.split(",").map(Number) : undefined;
}

/** The bytes of `[1, 2]`, `{ "type": "Buffer", "data": [1, 2] }` or `{ "0": 1, "1": 2 }`. */
function bytesOfList(json: unknown): Uint8Array | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { data } = json as { data?: unknown };
  const list: readonly unknown[] = Array.isArray(data) ? data : Object.values(json);
  const isList = list.length > 0 && list.every((value) => isByte(value));
  return isList ? Uint8Array.from(list as readonly number[]) : undefined;
}

function isByte(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xff;
}
