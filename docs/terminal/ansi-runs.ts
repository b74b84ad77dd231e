/** A piece of a line in one style. */
export interface Run {
  /** Without white space around it. */
  readonly text: string;
  /** The column of its first character, from 0. */
  readonly column: number;
  /** CSS classes; none for plain text. */
  readonly classes: readonly string[];
}

/** The escape codes that the command line writes, with what they set. */
const STYLES: Readonly<Record<string, { readonly weight?: string; readonly colour?: string }>> = {
  1: { weight: "bold" },
  2: { weight: "dim" },
  22: { weight: "" },
  31: { colour: "red" },
  32: { colour: "green" },
  33: { colour: "yellow" },
  36: { colour: "cyan" },
  39: { colour: "" },
};

/**
 * Reads a line of terminal output.
 *
 * @throws Error for an escape code that the command line does not write: the picture would be another.
 */
export function ansiRuns(line: string): readonly Run[] {
  const runs: Run[] = [];
  let column = 0;
  let style = { weight: "", colour: "" };
  const [plain = "", ...styled] = line.split("\u001b[");
  const add = (part: string): void => {
    const text = part.trim();
    const classes = Object.values(style).filter((name) => name !== "");
    if (text !== "") runs.push({ text, column: column + part.indexOf(text), classes });
    column += Array.from(part).length;
  };
  add(plain);
  for (const part of styled) {
    const code = part.slice(0, part.indexOf("m"));
    const change = STYLES[code];
    if (change === undefined) throw new Error(`no style is known for the escape code ${code}`);
    style = { ...style, ...change };
    add(part.slice(code.length + 1));
  }
  return runs;
}
