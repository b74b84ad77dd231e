import { isDeliveryTimestamp } from "../../src/delivery/headers.js";
import { headerClue, type Clue, type DeliveryHeaderName } from "./finding.js";
import type { TextReading, WebhookHeaderTexts } from "./webhook-header-texts.js";

/** The signed text before the body, and the hash. */
export interface SignedPrefix {
  readonly text: string;
  readonly hash: "sha256" | "sha1" | "sha384" | "sha512";
  /** The header readings in it; undefined if the header is missing or not part of it. */
  readonly timestamp: string | undefined;
  readonly clues: readonly Clue[];
}

/** The gateway's prefixes for every reading of the two headers. */
export function documentedPrefixes(headers: WebhookHeaderTexts): readonly SignedPrefix[] {
  return headers["X-Webhook-Timestamp"].flatMap((timestamp) =>
    headers["X-Webhook-Id"].map((id) => prefixOf(timestamp, id, [])),
  );
}

/** The gateway's prefix for one reading of each header. */
export function prefixOf(
  timestamp: TextReading,
  id: TextReading,
  clues: readonly Clue[],
  hash: SignedPrefix["hash"] = "sha256",
): SignedPrefix {
  return {
    text: `v1:${timestamp.text}:${id.text}:`,
    hash,
    timestamp: timestamp.text,
    clues: [...id.clues, ...timestamp.clues, ...clues],
  };
}

/** Prefixes that assume one more change: a changed header, or another signature scheme. */
export function otherPrefixes(headers: WebhookHeaderTexts): readonly SignedPrefix[] {
  const ids = headers["X-Webhook-Id"];
  const timestamps = headers["X-Webhook-Timestamp"];
  const changed = timestamps.flatMap((timestamp) =>
    ids.flatMap((id) => [
      ...timestampsBefore(timestamp).map((before) => prefixOf(before, id, [])),
      ...idsBefore(id).map((before) => prefixOf(timestamp, before, [])),
      // With other values the same string is a different order of the parts, which is another scheme.
      ...(isDeliveryTimestamp(id.text) ? [prefixOf(id, timestamp, [SWAPPED])] : []),
      ...OTHER_HASHES.map((hash) => prefixOf(timestamp, id, [hashClue(hash)], hash)),
    ]),
  );
  return [...changed, ...otherSchemes(headers)];
}

const SWAPPED: Clue = {
  code: "headers_swapped",
  message: "X-Webhook-Id and X-Webhook-Timestamp have each other's value.",
};

const OTHER_HASHES = ["sha1", "sha384", "sha512"] as const;

function hashClue(hash: string): Clue {
  return { code: "other_digest", message: `The digest is HMAC with ${hash}, not with sha256.` };
}

/** The timestamps that may have been signed in another form. */
export function timestampsBefore({ text, clues }: TextReading): readonly TextReading[] {
  const before = (code: Clue["code"], what: string, texts: readonly string[]) =>
    withClue(texts, { text, clues }, headerClue(code, "X-Webhook-Timestamp", what));
  if (/^[0-9]{13}$/.test(text)) {
    const what = "is in milliseconds, and the signature is over seconds";
    return before("timestamp_unit", what, wholeSeconds(Number(text) / 1000));
  }
  if (/^[0-9]{9,10}$/.test(text)) {
    const what = "is in seconds, and the signature is over milliseconds";
    return before("timestamp_unit", what, [`${text}000`]);
  }
  const isNumber = /^\+?[0-9]+(?:\.[0-9]*)?(?:e\+?[0-9]+)?$/i.test(text);
  const seconds = isNumber ? Number(text) : dateMs(text) / 1000;
  if (!Number.isFinite(seconds)) return [];
  const what = isNumber
    ? "is a number in another form than the whole seconds that were signed"
    : "is a date, and the signature is over Unix seconds";
  return before("timestamp_format", what, wholeSeconds(seconds));
}

function wholeSeconds(seconds: number): readonly string[] {
  return [String(Math.floor(seconds)), String(Math.round(seconds))];
}

/** Readings of a text as each of the others, with one more clue. */
function withClue(
  texts: Iterable<string>,
  { text, clues }: TextReading,
  clue: Clue,
): readonly TextReading[] {
  return [...new Set(texts)]
    .filter((one) => one !== text)
    .map((one) => ({ text: one, clues: [...clues, clue] }));
}

/** The time of a date. One without a zone is read as UTC, whatever the zone of this machine. */
function dateMs(text: string): number {
  const utcMs = Date.parse(`${text.trim()}Z`);
  return Number.isNaN(utcMs) ? Date.parse(text) : utcMs;
}

/** The ids that may have been signed: a framework that parses a UUID may write it in another form. */
function idsBefore({ text, clues }: TextReading): readonly TextReading[] {
  const bare = text.replace(/^urn:uuid:/i, "").replace(/^\{(.*)\}$/s, "$1");
  const dashed = text.replace(
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i,
    "$1-$2-$3-$4-$5",
  );
  const texts = [bare, dashed, text.replaceAll("-", "")];
  const cased = [text, ...texts].flatMap((one) => [one, one.toLowerCase(), one.toUpperCase()]);
  const what = "differs from the signed id in case, dashes or braces";
  return withClue(cased, { text, clues }, headerClue("id_respelled", "X-Webhook-Id", what));
}

type SchemeTexts = Readonly<Record<"timestamp" | "id" | "type", string>>;

/** Signature schemes of other services, and common mistakes with this one. */
const OTHER_SCHEMES: readonly (readonly [how: string, prefix: (texts: SchemeTexts) => string])[] = [
  ["without v1: at the start", ({ timestamp, id }) => `${timestamp}:${id}:`],
  ["id before timestamp", ({ timestamp, id }) => `v1:${id}:${timestamp}:`],
  ["id before timestamp, without v1:", ({ timestamp, id }) => `${id}:${timestamp}:`],
  ["id.timestamp.body, as in Standard Webhooks", ({ timestamp, id }) => `${id}.${timestamp}.`],
  ["timestamp.id.body", ({ timestamp, id }) => `${timestamp}.${id}.`],
  ["dots instead of colons", ({ timestamp, id }) => `v1.${timestamp}.${id}.`],
  ["timestamp.body, as Stripe does", ({ timestamp }) => `${timestamp}.`],
  ["timestamp:body", ({ timestamp }) => `${timestamp}:`],
  ["v0:timestamp:body, as Slack does", ({ timestamp }) => `v0:${timestamp}:`],
  ["without the id", ({ timestamp }) => `v1:${timestamp}:`],
  ["without the timestamp", ({ id }) => `v1:${id}:`],
  ["only the body, as GitHub does", () => ""],
  ["no colon before the body", ({ timestamp, id }) => `v1:${timestamp}:${id}`],
  ["nothing between the parts", ({ timestamp, id }) => `${timestamp}${id}`],
  ["v1= instead of v1:", ({ timestamp, id }) => `v1=${timestamp}:${id}:`],
  [
    "with the type, which is not signed",
    ({ timestamp, id, type }) => `v1:${timestamp}:${id}:${type}:`,
  ],
  [
    "with the type, which is not signed",
    ({ timestamp, id, type }) => `v1:${timestamp}:${type}:${id}:`,
  ],
  [
    "with the type, which is not signed",
    ({ timestamp, id, type }) => `v1:${type}:${timestamp}:${id}:`,
  ],
  ["with the type instead of the id", ({ timestamp, type }) => `v1:${timestamp}:${type}:`],
];

function otherSchemes(headers: WebhookHeaderTexts): readonly SignedPrefix[] {
  // The last reading is the cleanest: all white space and quotes are removed.
  const readingOf = (name: DeliveryHeaderName): TextReading =>
    headers[name].at(-1) ?? { text: "", clues: [] };
  const timestamp = readingOf("X-Webhook-Timestamp");
  const id = readingOf("X-Webhook-Id");
  const texts = { timestamp: timestamp.text, id: id.text, type: readingOf("X-Webhook-Type").text };
  return OTHER_SCHEMES.flatMap(([how, prefix]) => {
    const message = `It is signed with another scheme: ${how}.`;
    const clues: readonly Clue[] = [{ code: "other_scheme", message }];
    const text = prefix(texts);
    const others = text === "" ? OTHER_HASHES : [];
    return (["sha256", ...others] as const).map((hash) => ({
      text,
      hash,
      timestamp: timestamp.text,
      clues,
    }));
  });
}
