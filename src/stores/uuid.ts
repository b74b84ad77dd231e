/** A UUID as numbers: eight groups of four hex digits, 16 bits each. */
export const UUID_GROUPS = 8;

const GROUP_STARTS = [0, 4, 9, 14, 19, 24, 28, 32];
const DASH = 0x2d;
const NO_DIGIT = -1;

/** The value of each hex digit by character code. Upper case is left out, because it makes another id. */
const DIGITS = /* @__PURE__ */ Int8Array.from({ length: 128 }, (_, code) =>
  "0123456789abcdef".indexOf(String.fromCharCode(code)),
);

/**
 * Reads `id` into the eight groups of `uuid`. Returns false if `id` is not a UUID in its canonical form,
 * 8-4-4-4-12 in lower case: only then do the numbers stand for exactly one text. `uuid` then holds
 * arbitrary numbers.
 */
export function readUuid(id: string, uuid: Uint16Array): boolean {
  if (id.length !== 36) return false;
  // Becomes negative with the first character that is no digit. A regular expression would take twice
  // as long as the rest of this function.
  let seen = 0;
  for (let group = 0; group < UUID_GROUPS; group++) {
    const start = GROUP_STARTS[group] ?? 0;
    const value =
      (digitAt(id, start) << 12) |
      (digitAt(id, start + 1) << 8) |
      (digitAt(id, start + 2) << 4) |
      digitAt(id, start + 3);
    seen |= value;
    uuid[group] = value;
  }
  return seen >= 0 && isDash(id, 8) && isDash(id, 13) && isDash(id, 18) && isDash(id, 23);
}

function digitAt(id: string, at: number): number {
  return DIGITS[id.charCodeAt(at)] ?? NO_DIGIT;
}

function isDash(id: string, at: number): boolean {
  return id.charCodeAt(at) === DASH;
}
