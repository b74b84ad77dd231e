/** How many names are suggested. */
const NEAREST = 5;

/** The name that is most similar to a misspelt one. Undefined when none is similar. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = given.toLowerCase();
  let nearest: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of names) {
    const isBeginning = wanted.length > 1 && name.toLowerCase().startsWith(wanted);
    const edits = isBeginning ? 1 : countEdits(wanted, name.toLowerCase());
    // Any name of three letters is three edits away from any other, so that proves no similarity.
    if (edits < least && edits < name.length) {
      nearest = name;
      least = edits;
    }
  }
  return nearest;
}

/** The names most similar to one that is none of them: first those that share a word with it. */
export function nearestNames(given: string, names: readonly string[]): readonly string[] {
  const words = given.toLowerCase().split(/[^a-z0-9]+/);
  const distance = (name: string): number => {
    const shared = name.split("_").filter((part) => words.includes(part)).length;
    return countEdits(given.toLowerCase(), name) - NEAREST * shared;
  };
  return [...names].sort((one, other) => distance(one) - distance(other)).slice(0, NEAREST);
}

/** Levenshtein distance: how many letters to insert, delete or replace. */
function countEdits(from: string, to: string): number {
  let above = Array.from({ length: to.length }, (_, at) => at + 1);
  let edits = to.length;
  for (let row = 0; row < from.length; row++) {
    let corner = row;
    edits = row + 1;
    above = above.map((up, at) => {
      const replaced = corner + (from[row] === to[at] ? 0 : 1);
      corner = up;
      edits = Math.min(replaced, up + 1, edits + 1);
      return edits;
    });
  }
  return edits;
}

/** `, did you mean X?`, or an empty string. */
export function hintOf(given: string, names: readonly string[], prefix = ""): string {
  const name = nearestName(given, names);
  return name === undefined ? "" : `, did you mean ${prefix}${name}?`;
}
