import type { Output } from "./command-io.js";

/** The option of a command that ends with one result. */
export const JSON_OPTION = {
  kind: "flag",
  help: "Writes the result as one JSON document, and nothing else to standard output.",
} as const;

/** Control characters that JSON leaves as they are, and some terminals obey. */
const OBEYED = /[\u007f-\u009f]/g;

/** Writes a result as one JSON document. */
export function writeJson({ write }: Output, document: unknown): void {
  write(`${escaped(JSON.stringify(document, null, 2))}\n`);
}

/** Writes one of many results as a line. */
export function writeJsonLine({ write }: Output, document: unknown): void {
  write(`${escaped(JSON.stringify(document))}\n`);
}

function escaped(json: string): string {
  return json.replace(OBEYED, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
