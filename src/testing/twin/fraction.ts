import type { Random } from "../random.js";

/** A number from 0 to just under 1. */
export function fractionOf(random: Random): number {
  return random.below(4_294_967_296) / 4_294_967_296;
}
