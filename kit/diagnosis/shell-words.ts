import { CaptureError } from "./captured-request.js";

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  v: "\v",
};
/** Ends of a command; what follows is another one, or a file for the output. */
const ENDS = new Set(["\n", ";", "|", "&", ">", "<"]);
const BLANKS = new Set([" ", "\t", "\r"]);

/**
 * The words of the first command in a text, with the quotes of a POSIX shell removed. Each character
 * stands for one byte (Latin-1), so that no byte is lost.
 */
export function shellWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    // A line that goes on: \ in a shell, ^ in cmd.exe, ` in PowerShell.
    const continued = /^[\\^`]\r?\n/.exec(text.slice(at, at + 3));
    if (continued !== null) {
      at += continued[0].length;
    } else if (character === "'" || character === '"' || text.startsWith("$'", at)) {
      const quoted = readQuoted(text, at);
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else if (BLANKS.has(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
    } else if (ENDS.has(character)) {
      break;
    } else {
      const isEscaped = character === "\\";
      word = (word ?? "") + (isEscaped ? text.charAt(at + 1) : character);
      at += isEscaped ? 2 : 1;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** The text between the quotes at `start`, and the offset behind them. */
function readQuoted(text: string, start: number): { text: string; end: number } {
  const isAnsi = text.charAt(start) === "$";
  const quote = isAnsi ? "'" : text.charAt(start);
  const first = start + (isAnsi ? 2 : 1);
  let end = first;
  // Between single quotes a backslash is an ordinary character.
  const escapes = isAnsi || quote === '"';
  while (end < text.length && text.charAt(end) !== quote) {
    end += escapes && text.charAt(end) === "\\" ? 2 : 1;
  }
  if (end >= text.length) {
    throw new CaptureError("invalid_command", "the curl command has a quote that is not closed");
  }
  const inner = text.slice(first, end);
  const plain = isAnsi ? unescapeAnsi(inner) : escapes ? unescapeDouble(inner) : inner;
  return { text: plain, end: end + 1 };
}

function unescapeDouble(text: string): string {
  return text.replace(/\\(?:\r?\n|(["\\$`]))/g, "$1");
}

/** The escapes of `$'…'`. */
function unescapeAnsi(text: string): string {
  return text.replace(
    /((?:\\u[0-9a-f]{4})+)|\\(?:x([0-9a-f]{1,2})|([0-7]{1,3})|(.))/gis,
    (_, units?: string, hex?: string, octal?: string, other = "") => {
      if (units !== undefined) {
        // A character outside the basic plane is written as two units.
        return Buffer.from(String(JSON.parse(`"${units.toLowerCase()}"`))).toString("latin1");
      }
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return ESCAPES[String(other)] ?? String(other);
    },
  );
}
