/** One token of a JSON text. */
export interface JsonToken {
  readonly kind: "string" | "scalar" | "{" | "}" | "[" | "]" | "," | ":";
  /** The text as written. A number keeps its zeros and all its digits. */
  readonly text: string;
  /** Offset in the text. */
  readonly at: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SCALAR_END = /[\s,:{}[\]"]/g;

/**
 * The tokens of a JSON text; undefined if the text is not JSON. Only the white space between tokens is lost:
 * JSON.parse would round large numbers, turn 1.0 into 1 and drop a repeated key.
 */
export function readJsonTokens(text: string): readonly JsonToken[] | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // The loop below relies on valid JSON.
  const tokens: JsonToken[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    switch (character) {
      case " ":
      case "\t":
      case "\n":
      case "\r":
        at += 1;
        break;
      case "{":
      case "}":
      case "[":
      case "]":
      case ",":
      case ":":
        tokens.push({ kind: character, text: character, at });
        at += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        tokens.push({ kind: "string", text: text.slice(at, end), at });
        at = end;
        break;
      }
      default: {
        SCALAR_END.lastIndex = at;
        const end = SCALAR_END.exec(text)?.index ?? text.length;
        tokens.push({ kind: "scalar", text: text.slice(at, end), at });
        at = end;
      }
    }
  }
  return tokens;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}
