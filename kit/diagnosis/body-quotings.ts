import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";

const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  "#34": '"',
  "#x22": '"',
  apos: "'",
  "#39": "'",
  "#x27": "'",
  lt: "<",
  gt: ">",
  amp: "&",
};

const PYTHON_ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** The quoting of a log, a shell or a page. */
export const BODY_QUOTINGS: Changes<CapturedBody> = {
  body_quoted: {
    "The captured body is a JSON string that contains the signed body.": ({ json }) =>
      typeof json === "string" ? json : undefined,
    "The captured body has its quotes escaped, as a log writes them.": ({ text = "" }) =>
      unescape(text),
    "The captured body has quotes around it that were not signed.": ({ text = "" }) =>
      /^\s*(["'`])(.*)\1\s*$/s.exec(text)?.[2],
    "The captured body is in the form in which Python prints bytes.": ({ text = "" }) => {
      const printed = /^\s*b(["'])(.*)\1\s*$/s.exec(text)?.[2];
      return printed === undefined ? undefined : bytesOfPython(printed);
    },
  },
  body_html_escaped: {
    "The captured body contains HTML entities that were not signed.": ({ text = "" }) =>
      text.includes("&") ? unescapeHtml(text) : undefined,
  },
};

function unescape(text: string): string | undefined {
  if (!text.includes('\\"')) return undefined;
  try {
    return String(JSON.parse(`"${text.trim()}"`));
  } catch {
    return undefined;
  }
}

function bytesOfPython(text: string): Uint8Array {
  const latin = text.replace(/\\(?:x([0-9a-f]{2})|(.))/gis, (_, hex?: string, other = "") =>
    hex === undefined
      ? (PYTHON_ESCAPES[String(other)] ?? String(other))
      : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(latin, "latin1");
}

function unescapeHtml(text: string): string {
  return text.replace(
    /&(#?\w{2,4});/g,
    (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole,
  );
}
