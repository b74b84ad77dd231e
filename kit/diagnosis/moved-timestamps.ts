import { inWords } from "./clock-skew.js";
import { headerClue } from "./finding.js";
import { prefixOf, timestampsBefore, type SignedPrefix } from "./signed-prefixes.js";
import type { TextReading, WebhookHeaderTexts } from "./webhook-header-texts.js";

const QUARTER_HOUR = 900;
/** No two time zones are further apart from UTC than this, in seconds. */
const MAX_ZONE = 14 * 3_600;
const FEW_SECONDS = 10;
/** A request that is sent again with a new time is rarely older, in seconds. */
const MAX_DELAY = 3_600;

/** Prefixes that assume that the timestamp was moved after it was signed. */
export interface MovedPrefixes {
  /** By a time zone or by a few seconds. */
  readonly likely: readonly SignedPrefix[];
  /** By any other number of seconds up to an hour, small ones first. */
  readonly others: () => Iterable<SignedPrefix>;
}

/** The prefixes before something moved the timestamp. */
export function movedPrefixes(headers: WebhookHeaderTexts): MovedPrefixes {
  const given = headers["X-Webhook-Timestamp"];
  const inSeconds = [...given, ...given.flatMap((reading) => timestampsBefore(reading))].filter(
    ({ text }) => /^[0-9]{9,10}$/.test(text),
  );
  const movedBy = (shifts: readonly number[]): SignedPrefix[] =>
    shifts.flatMap((shift) =>
      inSeconds.flatMap((reading) =>
        headers["X-Webhook-Id"].map((id) => prefixOf(beforeShift(reading, shift), id, [])),
      ),
    );
  return {
    likely: movedBy([...bothWays(QUARTER_HOUR, MAX_ZONE), ...bothWays(1, FEW_SECONDS)]),
    *others() {
      for (const shift of bothWays(1, MAX_DELAY)) {
        const isLikely = shift % QUARTER_HOUR === 0 || Math.abs(shift) <= FEW_SECONDS;
        if (!isLikely) yield* movedBy([shift]);
      }
    },
  };
}

/** The multiples of `step` up to `max`, each forward and backward, small ones first. */
function bothWays(step: number, max: number): readonly number[] {
  return Array.from({ length: max / step }, (_, at) => (at + 1) * step).flatMap((shift) => [
    shift,
    -shift,
  ]);
}

/** The reading of a timestamp that `shift` seconds were added to after it was signed. */
function beforeShift({ text, clues }: TextReading, shift: number): TextReading {
  const direction = shift > 0 ? "later" : "earlier";
  const cause =
    shift % QUARTER_HOUR === 0
      ? "most likely it was converted to another time zone"
      : "the request was given another time after it was signed";
  const what = `is ${inWords(shift * 1_000)} ${direction} than the signed timestamp: ${cause}`;
  const clue = headerClue("timestamp_moved", "X-Webhook-Timestamp", what);
  return { text: String(Number(text) - shift), clues: [...clues, clue] };
}
