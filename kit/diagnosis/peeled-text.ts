import { HEADERS } from "../../src/delivery/headers.js";
import { textOfUtf8 } from "../json-parts.js";

/** More layers are no accident. */
const MAX_LAYERS = 6;
/** What follows the name of a header in a text that was quoted, encoded or escaped as a whole. */
const NAME = new RegExp(`webhook[-_](?:${Object.keys(HEADERS).join("|")})(?=(.{0,12}))`, "is");
const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  lt: "<",
  gt: ">",
  amp: "&",
};
/** The letters of escapes, and in the same order what they stand for. */
const LETTERS = "0abtnvfreNLP";
const MEANINGS = "\0\x07\b\t\n\v\f\r\x1b\x85\u2028\u2029";
const ESCAPE =
  /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|((?:x[0-9a-f]{2}(?:\\(?=x[0-9a-f]{2}))?)+)|(\r?\n[ \t]*)|([^]))/gi;

/** The text of a capture without what a mail, a page, a log or a URL has put around the whole of it. */
export function peeledText(given: string): string {
  let text = given;
  for (let layer = 0; layer < MAX_LAYERS; layer++) {
    const name = NAME.exec(text);
    const peeled = name === null ? fromBase64(text) : peel(text, name.index, name[1] ?? "");
    if (peeled === undefined || peeled === text) break;
    text = peeled;
  }
  return text;
}

function peel(text: string, at: number, after: string): string | undefined {
  const lineStart = text.lastIndexOf("\n", at) + 1;
  if (/^[ \t]*>/.test(text.slice(lineStart, lineStart + 80))) return withoutQuotes(text);
  if (/^```|^~~~/m.test(text)) return text.replace(/^[ \t]*(?:```|~~~)[^\n`]*(?:\n|$)/gm, "");
  // The carets of cmd.exe, which stand before signs and at line ends.
  const isCaret = /\^"(?:x-)?$/i.test(text.slice(Math.max(0, at - 4), at));
  if (isCaret) return text.replace(/\^(?:\r?\n|([^]))/g, "$1");
  if (/^\\{1,8}"/.test(after)) return unescaped(text);
  if (/^(?:%22)*(?:%3A|%3D|%22)|^=(?:%22|v1%3D)/i.test(after)) return percentDecoded(text)[0];
  if (/^&(?:quot|#34|#x22|#39);/i.test(after)) return withoutEntities(text);
  return undefined;
}

/** Without the `> ` of a mail, and of the request in the output of `curl -v`, whose other lines go. */
function withoutQuotes(text: string): string {
  return text
    .replace(/^(?:[*<] [^\n]*|[{}] \[[^\n]*|<)(?:\n|$)/gm, "")
    .replace(/^[ \t]*(?:>[ \t]?)+/gm, "");
}

/** Without the soft line breaks and = codes of a mail (quoted-printable), which the signature shows. */
export function withoutMailCodes(text: string): string {
  // A signature of 64 digits that begins with 3d is one of a request that nothing has coded.
  if (!/\bv1=3D(?![0-9a-f]{62}(?![0-9a-f=]))[0-9a-f]/i.test(text)) return text;
  return text
    .replace(/=\r?\n/g, "")
    .replace(/(?:=[0-9a-f]{2})+/gi, (codes) =>
      Buffer.from(codes.replaceAll("=", ""), "hex").toString(),
    );
}

/** A base64 run in the text that has the webhook headers, as ngrok keeps a request. */
function fromBase64(text: string): string | undefined {
  for (const [run] of text.matchAll(/[0-9A-Za-z+/_-]{64,}/g)) {
    const decoded = textOfUtf8(Buffer.from(run, "base64"));
    if (decoded !== undefined && NAME.test(decoded)) return decoded;
  }
  return undefined;
}

/** Without the escapes of JSON, JavaScript, Python, Go, C and YAML. */
export function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    ESCAPE,
    (_, braced?: string, unit?: string, bytes?: string, end?: string, one = "") => {
      const point = Number.parseInt(braced ?? unit ?? "", 16);
      if (point >= 0) return String.fromCodePoint(Math.min(point, 0x10ffff));
      if (bytes !== undefined) return Buffer.from(bytes.replace(/\\?x/gi, ""), "hex").toString();
      return end === undefined ? (MEANINGS[LETTERS.indexOf(String(one))] ?? String(one)) : "";
    },
  );
}

/** Without the entities of HTML. */
export function withoutEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{2,3})|#x([0-9a-f]{2})|(quot|apos|lt|gt|amp));/gi,
    (_, decimal?: string, hex?: string, name = "") =>
      ENTITIES[String(name).toLowerCase()] ??
      String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
  );
}

/** Without percent-encoding, with + as a space and as itself. Empty for a broken encoding. */
export function percentDecoded(text: string): readonly string[] {
  try {
    return [decodeURIComponent(text.replaceAll("+", " ")), decodeURIComponent(text)];
  } catch {
    return [];
  }
}

/** The text of UTF-16, as Windows PowerShell and some editors save it. Undefined for other bytes. */
export function fromUtf16(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  // The byte order mark, or the empty half of the first letter.
  const isBig = first === 0xfe || first === 0;
  const isUtf16 = isBig || second === 0xfe || second === 0;
  if (!isUtf16 || bytes.length % 2 !== 0) return undefined;
  return new TextDecoder(isBig ? "utf-16be" : "utf-16le").decode(bytes);
}
