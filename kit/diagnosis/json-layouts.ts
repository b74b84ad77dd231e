import type { JsonPart } from "../json-parts.js";

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
 * The parts in a layout, with each string as `quoted` gives it. Undefined if the text exceeds `maxLength`:
 * with deep nesting the indentation grows with the square of the depth.
 */
export function writeJson(
  parts: readonly JsonPart[],
  quoted: (part: JsonPart) => string,
  layout: JsonLayout,
  maxLength: number,
): string | undefined {
  const { newline, indent, comma, colon, isJackson = false } = layout;
  let depth = 0;
  let out = "";

  for (const [at, part] of parts.entries()) {
    if (out.length > maxLength) return undefined;
    const { kind } = part;
    const opens = isOpener(part);
    const closes = isCloser(part);
    const isEmpty = opens ? isCloser(parts[at + 1]) : closes && isOpener(parts[at - 1]);
    const isInline = kind === "," ? part.isInList : kind === "[" || kind === "]";
    const hasBreaks = !isEmpty && !(isJackson && isInline);
    if (hasBreaks && opens) depth += 1;
    if (hasBreaks && closes) depth -= 1;
    const lineBreak = newline === "" ? "" : newline + indent.repeat(depth);
    const gap = hasBreaks ? lineBreak : isJackson ? " " : "";
    if (opens) out += kind + gap;
    else if (closes) out += (isEmpty ? "" : gap) + kind;
    else if (kind === ",") out += comma + gap;
    else out += kind === ":" ? colon : quoted(part);
  }
  return out.length > maxLength ? undefined : out;
}

function isOpener(part: JsonPart | undefined): boolean {
  return part?.kind === "{" || part?.kind === "[";
}

function isCloser(part: JsonPart | undefined): boolean {
  return part?.kind === "}" || part?.kind === "]";
}
