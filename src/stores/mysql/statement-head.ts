import { endOf, firstWords } from "../first-words.js";

/** `CREATE OR REPLACE TEMPORARY` needs the most words to be told apart. */
const WORDS = 4;

// The patterns are sticky, so that each is tried once at a position and the time grows in proportion to
// the text. `/*! … */` and `/*M! … */` are no comments: the server executes what is in them.
const BLANK =
  /[\s\0]+|#[^\n]*|--(?=[\s\0-\x1f]|$)[^\n]*|\/\*M?!\d*|\/\*(?!M?!)(?:[^*]|\*(?!\/))*\*\/|\*\//y;
/** A keyword, or a name with its dots. */
const WORD = /[\w$.@\u0080-\uffff]+/y;

/**
 * The first words, at most four, of the first statement in `text` that is not empty. They keep their
 * case, are separated by one space, and leave out comments. The head ends before anything but a word.
 */
export function statementHead(text: string): string {
  let at = skip(text, 0);
  while (text[at] === ";") at = skip(text, at + 1);
  return firstWords(text, at, WORDS, WORD, skip);
}

/** The position after white space and comments. */
function skip(text: string, from: number): number {
  let at = from;
  for (let end = endOf(BLANK, text, at); end > at; end = endOf(BLANK, text, at)) at = end;
  return at;
}
