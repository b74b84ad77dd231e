/**
 * The words of `text` from `start` on, at most `count`, separated by one space. `skip` returns the position
 * after white space and comments. Ends before anything but a word.
 */
export function firstWords(
  text: string,
  start: number,
  count: number,
  word: RegExp,
  skip: (text: string, from: number) => number,
): string {
  const words: string[] = [];
  for (let at = start; words.length < count;) {
    const end = endOf(word, text, at);
    if (end === at) break;
    words.push(text.slice(at, end));
    at = skip(text, end);
  }
  return words.join(" ");
}

/** The end of the match of the sticky `pattern` at `at`; `at` if there is none. */
export function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
