import type { BodyReading, CapturedBody } from "./captured-body.js";

/** The body read from a text form of its bytes: base64, hexadecimal, or a list of numbers. */
export function* bodyListings({ text, json }: CapturedBody): Generator<BodyReading> {
  if (text === undefined) return;
  const bare = text.trim();
  const plain = typeof json === "string" ? json : bare;
  if (/^[0-9A-Za-z+/_\s-]{4,}={0,2}$/.test(plain)) {
    yield {
      body: Buffer.from(plain, "base64"),
      code: "body_base64",
      message: "The captured body is in base64; the bytes were signed.",
    };
  }
  const hex = /^<Buffer ([0-9a-f ]+)>$/.exec(bare)?.[1] ?? bare.replace(/^\\x/, "");
  const digits = hex.replace(/[\s:]+/g, "");
  if (digits.length % 2 === 0 && /^[0-9a-f]+$/i.test(digits)) {
    yield {
      body: Buffer.from(digits, "hex"),
      code: "body_hex",
      message: "The captured body is in hexadecimal; the bytes were signed.",
    };
  }
  const listed = bytesOfList(json) ?? bytesOfList(numbersOf(bare));
  if (listed !== undefined) {
    yield {
      body: listed,
      code: "body_bytes_listed",
      message: "The captured body is a list of byte values, as a Buffer looks in JSON or text.",
    };
  }
}

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
