/** `ROLLBACK WORK TO` tells the most with the most words. */
const WORDS = 3;

// What the server takes for space, and for the end of a line comment. Sticky: each is tried once at each
// place, so that a text of any length takes time in proportion to it.
const SPACE = /[ \t\n\r\f\v]+|--[^\n\r]*/y;
const SPACE_OR_NOTHING = /[ \t\n\r\f\v;]+|--[^\n\r]*/y;
/** A keyword, or a name with its dots: `local.role` is no `LOCAL`. */
const WORD = /[\w$.\u0080-\uffff]+/y;
const COMMENT_EDGE = /\/\*|\*\//g;

/**
 * The first words of a text's first statement that is not empty, three at most, with one space between
 * them: as they are written, without the comments around them. Ends before anything that is no word.
 */
export function statementHead(text: string): string {
  const words: string[] = [];
  let at = skip(text, 0, SPACE_OR_NOTHING);
  while (words.length < WORDS) {
    const end = endOf(WORD, text, at);
    if (end === at) break;
    words.push(text.slice(at, end));
    at = skip(text, end, SPACE);
  }
  return words.join(" ");
}

/** Where what follows `space` and comments begins. */
function skip(text: string, from: number, space: RegExp): number {
  let at = from;
  for (;;) {
    const start = at;
    at = endOf(space, text, at);
    if (text.startsWith("/*", at)) at = endOfComment(text, at);
    if (at === start) return at;
  }
}

/** Where a match of the sticky `pattern` at `at` ends; `at` where there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Where the block comment at `start` ends, with those in it: of PostgreSQL they nest. */
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
