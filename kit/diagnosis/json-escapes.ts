/** How a program writes JSON strings. */
export interface JsonEscapes {
  /** Ends the sentence "… was signed with strings …". */
  readonly how: string;
  readonly quote: (value: string) => string;
}

// Each starts from JSON.stringify, which escapes only what JSON requires.
const plain = (value: string): string => JSON.stringify(value);
const ascii = (text: string): string => text.replace(/[\u007f-\uffff]/g, (c) => unit(c));
const asciiUpper = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (c) => unit(c).toUpperCase().replace("U", "u"));
const slashes = (text: string): string => text.replaceAll("/", "\\/");
const html = (text: string): string => text.replace(/[<>&\u2028\u2029]/g, (c) => unit(c));
const separators = (text: string): string => text.replace(/[\u2028\u2029]/g, (c) => unit(c));

function unit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** System.Text.Json escapes characters that could end a script, and writes the quote as a code. */
function dotNet(value: string): string {
  const inner = asciiUpper(plain(value).slice(1, -1));
  const escaped = inner
    .replaceAll('\\"', "\\u0022")
    .replace(/[<>&'+`]/g, (c) => unit(c).toUpperCase().replace("U", "u"));
  return `"${escaped}"`;
}

/** The styles in use, the most common first. */
export const JSON_ESCAPES: readonly JsonEscapes[] = [
  { how: "not escaped, as JavaScript, Ruby and Java write them", quote: plain },
  { how: "escaped to ASCII, as Python's json.dumps does", quote: (v) => ascii(plain(v)) },
  {
    how: "with \\/ and in ASCII, as PHP's json_encode does",
    quote: (v) => ascii(slashes(plain(v))),
  },
  { how: "with <, > and & escaped, as Go and Rails do", quote: (v) => html(plain(v)) },
  {
    how: "with \\/, as PHP with JSON_UNESCAPED_UNICODE does",
    quote: (v) => separators(slashes(plain(v))),
  },
  { how: "escaped as .NET's System.Text.Json does", quote: dotNet },
  {
    how: "with <, >, &, = and ' escaped, as Gson does",
    quote: (v) => html(plain(v)).replaceAll("=", "\\u003d").replaceAll("'", "\\u0027"),
  },
  {
    how: "escaped to ASCII in upper-case digits, as Jackson can",
    quote: (v) => asciiUpper(plain(v)),
  },
];
