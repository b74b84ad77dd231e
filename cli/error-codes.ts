import { documentFile, readPackaged, withoutLinks } from "./documents.js";

/** An error code and what `docs/errors.md`, which the package holds, says of it. */
export interface ErrorCode {
  readonly code: string;
  /** The name of the class. */
  readonly error: string;
  /** The entries of the package that it comes from: `the package` or subpaths. */
  readonly entries: string;
  /** Where a user meets it, and why. */
  readonly where: string;
  /** What the code says, as one sentence. */
  readonly meaning: string;
  /** The usual causes and what to do about each, most frequent first. */
  readonly causes: readonly string[];
  /** The command that finds out more. */
  readonly command?: string;
}

/** Every error code, in the order of the document's table. */
export function readErrorCodes(page = readPackaged(documentFile("errors"))): readonly ErrorCode[] {
  const [head = "", ...sections] = withoutLinks(page).split(/^## /m);
  const rows = head.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) => {
    const cells = row.slice(2, -2).replaceAll("`", "").split(" | ");
    const [error = "", entries = "", codes = "", where = ""] = cells;
    return codes.split(", ").map((code) => {
      const lines = sections.find((section) => section.startsWith(`${code}\n`))?.split("\n") ?? [];
      const isCause = (line: string): boolean => line.startsWith("- ");
      const command = lines[lines.indexOf("```sh") + 1];
      return {
        code,
        error,
        entries,
        where,
        meaning: lines[2] ?? "",
        causes: lines.filter(isCause).map((line) => line.slice("- ".length)),
        ...(lines.includes("```sh") && command !== undefined ? { command } : {}),
      };
    });
  });
}
