import { endOf, firstWords } from "../first-words.js";

/** `ROLLBACK WORK TO` needs the most words to be told apart. */
const WORDS = 3;

// White space and line comments as the server defines them. The patterns are sticky, so that each is tried
// once at a position and the time grows in proportion to the text.
const SPACE = /[ \t\n\r\f\v]+|--[^\n\r]*/y;
const SPACE_OR_NOTHING = /[ \t\n\r\f\v;]+|--[^\n\r]*/y;
/** A keyword, or a name with its dots: `local.role` is not `LOCAL`. */
const WORD = /[\w$.\u0080-\uffff]+/y;
const COMMENT_EDGE = /\/\*|\*\//g;

/**
 * The first words, at most three, of the first statement in `text` that is not empty. They keep their
 * case, are separated by one space, and leave out comments. The head ends before anything but a word.
 */
export function statementHead(text: string): string {
  const start = skip(text, 0, SPACE_OR_NOTHING);
  return firstWords(text, start, WORDS, WORD, skip);
}

/** The position after `space` and comments. */
function skip(text: string, from: number, space = SPACE): number {
  let at = from;
  for (;;) {
    const start = at;
    at = endOf(space, text, at);
    if (text.startsWith("/*", at)) at = endOfComment(text, at);
    if (at === start) return at;
  }
}

/** The end of the block comment at `start`. Block comments nest in PostgreSQL. */
function endOfComment(text: string, start: number): number {
  let depth = 0;
  COMMENT_EDGE.lastIndex = start;
  for (;;) {
    const edge = COMMENT_EDGE.exec(text);
    // The server refuses a text whose comment does not end.
    if (edge === null) return text.length;
    depth += edge[0] === "/*" ? 1 : -1;
    if (depth === 0) return COMMENT_EDGE.lastIndex;
  }
}
