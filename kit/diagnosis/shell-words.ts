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
/**
 * A part of a command: a line that goes on (\\ in a shell, ^ in cmd.exe, ` in PowerShell), quoted text, blanks, the
 * end (what follows is another command, or a file for the output), or one character. Between single quotes a
 * backslash is an ordinary character.
 */
const PART =
  /[\\^`]\r?\n|\$'(?<ansi>[^'\\]*(?:\\.[^'\\]*)*)'|'(?<single>[^']*)'|"(?<double>[^"\\]*(?:\\.[^"\\]*)*)"|(?<open>["'])|(?<blanks>[ \t\r]+)|(?<end>[\n;|&<>])|\\(?<escaped>.?)|(?<plain>.)/gsy;

/**
 * The words of the first command in a text, with the quotes of a POSIX shell removed. Each character
 * stands for one byte (Latin-1), so that no byte is lost.
 */
export function shellWords(text: string): readonly string[] {
  const words: (string | undefined)[] = [undefined];
  for (const { groups = {} } of text.matchAll(PART)) {
    const { ansi, single, double, open, blanks, end, escaped, plain } = groups;
    if (end !== undefined) break;
    if (open !== undefined) {
      throw new CaptureError("invalid_command", "the curl command has a quote that is not closed");
    }
    const quoted = ansi === undefined ? double && unescapeDouble(double) : unescapeAnsi(ansi);
    const piece = quoted ?? single ?? escaped ?? plain;
    if (blanks !== undefined) words.push(undefined);
    else if (piece !== undefined) words.push((words.pop() ?? "") + piece);
  }
  return words.filter((word) => word !== undefined);
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
