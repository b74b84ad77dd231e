import { styleText } from "node:util";

/** The formats in use. */
export type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Puts a format around a text. Returns the text unchanged when the output has no colour. */
export type Style = (format: Format, text: string) => string;

/** The environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One of the two streams that a command writes to. */
export interface Output {
  readonly write: (text: string) => void;
  readonly isTTY: boolean;
  /** Characters per line; undefined when it is no terminal, so that nothing is cut off. */
  readonly columns: number | undefined;
  readonly style: Style;
}

/** The streams, variables and signal of a command. Tests pass their own. */
export interface CommandIo {
  /** The result. */
  readonly out: Output;
  /** Errors, warnings and progress. */
  readonly err: Output;
  /** Reads all of standard input. */
  readonly readStdin: () => Promise<Uint8Array>;
  /** Reads a line of standard input, which is a terminal. An empty one at its end. */
  readonly readLine: () => Promise<string>;
  readonly isStdinTTY: boolean;
  readonly env: Environment;
  /** Aborts on Ctrl-C with an `Interruption` as reason. The command then closes what it opened and ends. */
  readonly signal: AbortSignal;
}

/**
 * Whether to write colours to a stream: yes for a terminal. FORCE_COLOR and then NO_COLOR override this, in
 * the order that Node itself uses.
 */
export function wantsColour(isTTY: boolean, env: Environment): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused, TERM: terminal } = env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (refused !== undefined && refused !== "") return false;
  return isTTY && terminal !== "dumb";
}

/** Makes the style of a stream. */
export function createStyle(isColoured: boolean): Style {
  if (!isColoured) return (_format, text) => text;
  // Without validation: styleText would check standard output, also for text that goes to standard error.
  return (format, text) => styleText(format, text, { validateStream: false });
}

/** What a command has found. `unseen`: nothing is wrong, but an answer shows no more than that there was one. */
export type Mark = boolean | "unseen";

/** A sentence with a tick or a cross in front, or with a wave for what was not seen. */
export function resultLine({ style }: Output, passed: Mark, sentence: string): string {
  if (passed === "unseen") return style("yellow", `~ ${sentence}`);
  return passed ? style("green", `✓ ${sentence}`) : style("red", `✗ ${sentence}`);
}
