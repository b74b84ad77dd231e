import type { JsonToken } from "./json-tokens.js";

/** How a program lays out JSON tokens on lines. */
export interface JsonLayout {
  /** Ends the sentence "… was signed …". */
  readonly how: string;
  /** Empty if everything is on one line. */
  readonly newline: "" | "\n" | "\r\n";
  readonly indent: string;
  readonly comma: string;
  readonly colon: string;
  /** Jackson's style: a space inside empty objects and lists, and each list on one line. */
  readonly isJackson?: true;
}

/** The layouts in use, the most common first. */
export const JSON_LAYOUTS: readonly JsonLayout[] = [
  { how: "without spaces", newline: "", indent: "", comma: ",", colon: ":" },
  { how: "with spaces after , and :", newline: "", indent: "", comma: ", ", colon: ": " },
  { how: "indented by 2", newline: "\n", indent: "  ", comma: ",", colon: ": " },
  { how: "indented by 4", newline: "\n", indent: "    ", comma: ",", colon: ": " },
  { how: "indented by tabs", newline: "\n", indent: "\t", comma: ",", colon: ": " },
  { how: "indented by 2 with CRLF", newline: "\r\n", indent: "  ", comma: ",", colon: ": " },
  {
    how: "indented as Jackson does",
    newline: "\n",
    indent: "  ",
    comma: ",",
    colon: " : ",
    isJackson: true,
  },
  { how: "with a space after :", newline: "", indent: "", comma: ",", colon: ": " },
  { how: "indented by 1", newline: "\n", indent: " ", comma: ",", colon: ": " },
];

/**
 * The tokens in a layout, with each string as `quoted` gives it. Undefined if the text exceeds `maxLength`:
 * with deep nesting the indentation grows with the square of the depth.
 */
export function writeJson(
  tokens: readonly JsonToken[],
  quoted: (token: JsonToken) => string,
  layout: JsonLayout,
  maxLength: number,
): string | undefined {
  const { newline, indent, comma, colon, isJackson = false } = layout;
  const openers: string[] = [];
  let depth = 0;
  let text = "";
  const breakLine = (): string => (newline === "" ? "" : newline + indent.repeat(depth));
  const isInline = (opener: string | undefined): boolean => isJackson && opener === "[";

  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined || text.length > maxLength) return undefined;
    switch (token.kind) {
      case "{":
      case "[": {
        const closer = token.kind === "{" ? "}" : "]";
        if (tokens[at + 1]?.kind === closer) {
          text += token.kind + (isJackson ? " " : "") + closer;
          at += 1;
        } else if (isInline(token.kind)) {
          openers.push(token.kind);
          text += "[ ";
        } else {
          openers.push(token.kind);
          depth += 1;
          text += token.kind + breakLine();
        }
        break;
      }
      case "}":
      case "]":
        if (isInline(openers.pop())) {
          text += " ]";
        } else {
          depth -= 1;
          text += breakLine() + token.kind;
        }
        break;
      case ",":
        text += comma + (isInline(openers.at(-1)) ? " " : breakLine());
        break;
      case ":":
        text += colon;
        break;
      case "string":
        text += quoted(token);
        break;
      case "scalar":
        text += token.text;
    }
  }
  return text.length > maxLength ? undefined : text;
}
