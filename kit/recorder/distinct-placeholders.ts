import { createHash } from "node:crypto";

/** Digits of a text's number, without `x` at their beginning: that is the 0. */
const LETTERS = "xabcdefghijklmnopqrstuvwyz";
const NUMBER = /^(-?)(\d{1,30})(\.\d+)?$/;
/** Maximum number of values that are remembered. */
const MAX_VALUES = 100_000;

/** Makes the placeholders of one recording: equal values have equal ones, and different values different ones. */
export class DistinctPlaceholders {
  /** The number of each value among those with the same placeholder, and how many numbers a placeholder has given. */
  readonly #numbers = new Map<string, number>();

  /** The placeholder of `value`. `common` is the one of all values with its shape, and the first of them gets it. */
  of(value: string, common: string): string {
    return variantOf(common, this.#numberOf(value, common));
  }

  /** The placeholder of an unknown key: `key0`, `key1`. */
  ofKey(key: string): string {
    return `key${this.#numberOf(key, "")}`;
  }

  #numberOf(value: string, common: string): number {
    const key = hashOf(common, value);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const counter = hashOf(common);
    const number = this.#numbers.get(counter) ?? 0;
    // At the end again, since the oldest are forgotten first.
    this.#numbers.delete(counter);
    this.#numbers.set(counter, number + 1).set(key, number);
    for (const oldest of this.#numbers.keys()) {
      if (this.#numbers.size <= MAX_VALUES) break;
      this.#numbers.delete(oldest);
    }
    return number;
  }
}

/** A hash, so that the memory holds no personal data, and little of a long text. */
function hashOf(...texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64");
}

/** A placeholder of the same shape for each number, as far as the shape has so many. */
function variantOf(common: string, number: number): string {
  if (number === 0) return common;
  const [, sign, whole = "", fraction = ""] = NUMBER.exec(common) ?? [];
  if (sign !== undefined) {
    // Down from the nines, and never to a 0 in front.
    const below = whole.length === 1 ? 10n : 9n * 10n ** BigInt(whole.length - 1);
    return `${sign}${String(BigInt(whole) - (BigInt(number) % below))}${fraction}`;
  }
  let left = number;
  const characters = Array.from(common).reverse();
  for (const [at, character] of characters.entries()) {
    if (left === 0) break;
    if (character !== "x") continue;
    characters[at] = LETTERS.charAt(left % LETTERS.length);
    left = Math.floor(left / LETTERS.length);
  }
  return characters.reverse().join("");
}
