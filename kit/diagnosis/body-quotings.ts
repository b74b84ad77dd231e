import type { BodyReading, CapturedBody } from "./captured-body.js";

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

/** Bodies with the quoting of a log, a shell or a page undone. */
export function* bodyQuotings({ text, json }: CapturedBody): Generator<BodyReading> {
  if (text === undefined) return;
  const code = "body_quoted";
  if (typeof json === "string") {
    yield {
      body: Buffer.from(json, "utf8"),
      code,
      message: "The captured body is a JSON string that contains the signed body.",
    };
  }
  const unescaped = unescape(text);
  if (unescaped !== undefined) {
    yield {
      body: Buffer.from(unescaped, "utf8"),
      code,
      message: "The captured body has its quotes escaped, as a log writes them.",
    };
  }
  const bare = /^\s*(["'`])(.*)\1\s*$/s.exec(text)?.[2];
  if (bare !== undefined) {
    const message = "The captured body has quotes around it that were not signed.";
    yield { body: Buffer.from(bare, "utf8"), code, message };
  }
  const python = /^\s*b(["'])(.*)\1\s*$/s.exec(text)?.[2];
  if (python !== undefined) {
    const message = "The captured body is in the form in which Python prints bytes.";
    yield { body: bytesOfPython(python), code, message };
  }
  if (text.includes("&")) {
    yield {
      body: Buffer.from(unescapeHtml(text), "utf8"),
      code: "body_html_escaped",
      message: "The captured body contains HTML entities that were not signed.",
    };
  }
}

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
