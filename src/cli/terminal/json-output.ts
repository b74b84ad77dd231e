import type { Output } from "./command-io.js";
import { spelledOut } from "./printable.js";

/** The option of a command that ends with one result. */
export const JSON_OPTION = {
  kind: "flag",
  help: "Writes the result as one JSON document, and nothing else to standard output.",
} as const;

/** Writes a result as one JSON document, with what a terminal obeys or does not show spelt out. */
export function writeJson({ write }: Output, document: unknown): void {
  write(`${spelledOut(JSON.stringify(document, null, 2))}\n`);
}

/** Writes one of many results as a line, spelt out in the same way. */
export function writeJsonLine({ write }: Output, document: unknown): void {
  write(`${spelledOut(JSON.stringify(document))}\n`);
}
