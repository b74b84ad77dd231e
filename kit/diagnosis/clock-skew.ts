import { HEADERS, readTimestamp } from "../../src/delivery/headers.js";
import { inWords } from "../duration-words.js";
import type { Clue } from "./finding.js";

const HALF_HOUR_MS = 1_800_000;
/** A skew this close to a multiple of half an hour looks like a time zone; no zone goes further than this. */
const ZONE_SLACK_MS = 120_000;
const MAX_ZONE_MS = 14 * 3_600_000;

/**
 * The clue for a timestamp outside the tolerance, or none. A timestamp that only makes sense in
 * milliseconds is read as milliseconds.
 */
export function skewClues(timestamp: string, nowMs: number, toleranceMs: number): readonly Clue[] {
  const text = timestamp.trim();
  if (!/^[0-9]{1,15}$/.test(text)) return [];
  const timestampMs = text.length > 12 ? Number(text) : readTimestamp(text);
  const skewMs = timestampMs - nowMs;
  if (Math.abs(skewMs) <= toleranceMs) return [];
  const direction = skewMs < 0 ? "behind" : "ahead of";
  const zone = looksLikeZone(skewMs)
    ? " Such a round difference may mean that a local time was read as UTC."
    : "";
  return [
    {
      code: skewMs < 0 ? "timestamp_behind" : "timestamp_ahead",
      header: HEADERS.timestamp.name,
      skewMs,
      message: `The timestamp is ${inWords(skewMs)} ${direction} the clock, and ${inWords(toleranceMs)} are allowed.${zone}`,
    },
  ];
}

function looksLikeZone(skewMs: number): boolean {
  const size = Math.abs(skewMs);
  const rest = size % HALF_HOUR_MS;
  const isRound = Math.min(rest, HALF_HOUR_MS - rest) <= ZONE_SLACK_MS;
  return isRound && size >= HALF_HOUR_MS - ZONE_SLACK_MS && size <= MAX_ZONE_MS + ZONE_SLACK_MS;
}
