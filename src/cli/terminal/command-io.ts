import type { Environment, Style } from "./style.js";

/** One of the two streams that a command writes to. */
export interface Output {
  readonly write: (text: string) => void;
  readonly isTTY: boolean;
  /** Characters in a line; undefined where it is no terminal, so that nothing is cut short. */
  readonly columns: number | undefined;
  readonly style: Style;
}

/** What a command knows of the world around it, so that a test can give it another. */
export interface CommandIo {
  /** The result. */
  readonly out: Output;
  /** Errors, warnings and progress. */
  readonly err: Output;
  /** All of standard input. */
  readonly readStdin: () => Promise<Uint8Array>;
  readonly isStdinTTY: boolean;
  readonly env: Environment;
  /** Aborts on Ctrl-C; its reason is an `Interruption`. The command then closes what it has opened and ends. */
  readonly signal: AbortSignal;
}
