import { styleText } from "node:util";

/** The formats that are used. */
export type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Puts a format around a text; changes nothing where colour is not wanted. */
export type Style = (format: Format, text: string) => string;

/** The environment, as far as it says something of colour. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether a stream is written to in colour: where it is a terminal, unless FORCE_COLOR or, after it,
 * NO_COLOR says otherwise, in the order that Node itself takes them.
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
  // Decided for this stream: styleText would look at standard output, whichever stream is written to.
  return (format, text) => styleText(format, text, { validateStream: false });
}
