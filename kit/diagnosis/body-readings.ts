import { BODY_CHANGES } from "./body-changes.js";
import type { CapturedBody } from "./captured-body.js";
import { jsonOf } from "../json-parts.js";
import { undo } from "./changes.js";
import type { Clue } from "./finding.js";
import { jsonSpellings } from "./json-spellings.js";
import type { SearchBudget } from "./search-budget.js";

/** A body to try, with the clues that it assumes. */
export interface TriedBody {
  readonly body: Uint8Array;
  readonly clues: readonly Clue[];
}

/** Costs of undoing all usual changes, and one of a chat, in hashed bytes per byte of the body. */
const CHANGES_COST = 48;
const RETYPED_COST = 4;

/** For an object, which has already been serialized again. */
export const PARSED: Clue = {
  code: "body_parsed",
  message: "The body is the result of a parser; serialized again it gives the signature.",
};

/** The bodies that may have been signed instead of the captured one, likely ones first. */
export function* otherBodies(captured: CapturedBody, budget: SearchBudget): Generator<TriedBody> {
  const { bytes, text = "", contentLength = bytes.length } = captured;
  const tried = (signed: string | Uint8Array, code: Clue["code"], message: string): TriedBody => {
    const body = typeof signed === "string" ? Buffer.from(signed, "utf8") : signed;
    return { body, clues: [{ code, message, ...differenceOf(bytes, body) }] };
  };
  if (contentLength < bytes.length) {
    const message = `The captured body continues after the ${contentLength} bytes that Content-Length declares and that were signed.`;
    yield tried(bytes.subarray(0, contentLength), "body_extra_bytes", message);
  }
  if (!budget.spend(CHANGES_COST * bytes.length)) return;
  for (const { bytes: body, code, what } of undo(BODY_CHANGES, captured)) {
    if (Buffer.compare(body, bytes) !== 0) yield tried(body, code, what);
  }
  for (const retyped of retypedTexts(text)) {
    if (!budget.spend(RETYPED_COST * bytes.length)) return;
    yield tried(retyped, RETYPED_CLUE.code, RETYPED_CLUE.message);
  }
  const json = text.replace(/^\uFEFF/, "");
  const isJson = jsonOf(json) !== undefined;
  let left = MAX_SPELLED;
  for (const written of isJson ? [json] : retypedJson(text)) {
    if (left-- === 0) return;
    for (const { text: spelled, code, message } of jsonSpellings(written, budget)) {
      const found = tried(spelled, code, message);
      yield isJson ? found : { ...found, clues: [RETYPED_CLUE, ...found.clues] };
    }
  }
}

/** Where two bodies differ: the offset of the first difference, how many captured bytes differ, and both lengths. */
export function differenceOf(captured: Uint8Array, signed: Uint8Array) {
  const shorter = Math.min(captured.length, signed.length);
  let offsetBytes = 0;
  while (offsetBytes < shorter && captured[offsetBytes] === signed[offsetBytes]) offsetBytes++;
  let same = 0;
  while (same < shorter - offsetBytes && captured.at(-1 - same) === signed.at(-1 - same)) same++;
  return {
    offsetBytes,
    differingBytes: captured.length - offsetBytes - same,
    capturedBytes: captured.length,
    expectedBytes: signed.length,
  };
}

/** What chats, mails and editors write in place of a text, and the text. */
const RETYPED: readonly (readonly [written: RegExp, text: string])[] = [
  [/[“”„‟]/gu, '"'],
  [/[‘’‚‛]/gu, "'"],
  [/[—–]/gu, "--"],
  [/–/gu, "-"],
  [/[‐‑]/gu, "-"],
  [/…/gu, "..."],
  [/[\u00a0\u202f]/gu, " "],
  [/[\u200b-\u200d\u2060\ufeff]/gu, ""],
  // An address or a link of Slack, Outlook and Markdown.
  [/<(?:mailto:)?((?:https?:\/\/|[^\s<>|"@]{1,80}@)[^\s<>|"]{1,200})(?:\|[^<>"]{0,200})?>/g, "$1"],
  [/([^\s"<>]{1,200})<(?:mailto:)?\1>/g, "$1"],
  [/\[([^\]"]{1,200})\]\((?:mailto:)?[^)"]{1,200}\)/g, "$1"],
  [/\\([_*~`#>|()[\]{}.!+-])/g, "$1"],
  // Each match begins where its white space does: from every blank of a long run, the time would be its square.
  [/(?<!\s)\s*\n\s*/g, " "],
  [/(?<![ \t])[ \t]*\r?\n/g, ""],
];
export const RETYPED_CLUE: Clue = {
  code: "body_retyped",
  message:
    "A chat, a mail or an editor changed the text: its quotes, dashes, dots, spaces, line ends, escapes or links.",
};
/** Texts that were JSON before a chat changed them, of which each spelling is tried. */
const MAX_SPELLED = 8;
/** Characters of a text that is undone and parsed in up to 127 ways. */
const MAX_PARSED = 100_000;

/**
 * The captured body as it was before a chat, a mail or an editor changed it, if it is no JSON and would have been. Of
 * several, one of the length that Content-Length declares.
 */
export function beforeRetyping(captured: CapturedBody): CapturedBody | undefined {
  const { text = "", json, contentLength } = captured;
  if (json !== undefined) return undefined;
  let found: CapturedBody | undefined;
  for (const retyped of retypedJson(text)) {
    const bytes = Buffer.from(retyped, "utf8");
    const before = { ...captured, bytes, text: retyped, json: jsonOf(retyped) };
    if (bytes.length === contentLength) return before;
    found ??= before;
  }
  return found;
}

/** The JSON texts that a chat, a mail or an editor may have changed to the captured text. */
function* retypedJson(text: string): Generator<string> {
  if (text.length > MAX_PARSED) return;
  for (const retyped of retypedTexts(text)) if (jsonOf(retyped) !== undefined) yield retyped;
}

/** Changes that are undone with each other in every way: with 7 there are 127 ways. */
const MAX_CHANGES = 7;

/** The texts that a chat, a mail or an editor may have changed to the captured one. */
function* retypedTexts(text: string): Generator<string> {
  const found = RETYPED.filter(([written]) => text.search(written) !== -1).slice(0, MAX_CHANGES);
  for (let ways = 2 ** found.length - 1; ways > 0; ways--) {
    yield found
      .filter((_, at) => (ways & (1 << at)) !== 0)
      .reduce((changed, [written, plain]) => changed.replace(written, plain), text);
  }
}
