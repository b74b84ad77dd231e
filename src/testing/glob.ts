/** A pattern of file names: a folder to look in, and which of the files below it match. */
export interface Glob {
  /** The folder up to the first wildcard; `.` where the pattern begins with one. */
  readonly folder: string;
  /** Whether a file matches, by its path below the folder, parted by `/`. */
  readonly matches: (file: string) => boolean;
}

const WILDCARD = /[*?{]/;
/** `**` counts as such only where it is all of a path's segment; elsewhere it is one star. */
const TOKENS = /(?<=^|\/)\*\*(\/|$)|\*+|[^]/g;
const SYNTAX = /[\\^$.*+?()[\]{}|/]/;

/** Whether a path has a wildcard in it. */
export function isGlob(path: string): boolean {
  return WILDCARD.test(path);
}

/**
 * Reads a pattern: `*` is any part of a name, `?` one character of it, `**` any folders (none included),
 * and `{a,b}` a or b. A file or folder whose name begins with a dot is passed over, as shells do.
 */
export function parseGlob(pattern: string): Glob {
  const start = pattern.lastIndexOf("/", pattern.search(WILDCARD)) + 1;
  const expressions = alternativesOf(pattern.slice(start)).map(expressionOf);
  return {
    folder: start === 0 ? "." : pattern.slice(0, start),
    matches: (file) =>
      !/(^|\/)\./.test(file) && expressions.some((expression) => expression.test(file)),
  };
}

/** The patterns that `{a,b}` stands for, the innermost braces first. A brace without its other is itself. */
function alternativesOf(pattern: string): string[] {
  const braces = /\{([^{}]*)\}/.exec(pattern);
  if (braces === null) return [pattern];
  const [{ length }, choices = ""] = braces;
  const before = pattern.slice(0, braces.index);
  const after = pattern.slice(braces.index + length);
  return choices.split(",").flatMap((choice) => alternativesOf(`${before}${choice}${after}`));
}

function expressionOf(pattern: string): RegExp {
  const syntax = pattern.replace(TOKENS, (token: string, afterFolders: string | undefined) => {
    if (afterFolders !== undefined) return afterFolders === "" ? "[^]+" : "(?:[^/]+/)*";
    if (token.startsWith("*")) return "[^/]*";
    if (token === "?") return "[^/]";
    return SYNTAX.test(token) ? `\\${token}` : token;
  });
  return new RegExp(`^${syntax}$`, "u");
}
