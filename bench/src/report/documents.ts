import { readFile, writeFile } from "node:fs/promises";

/**
 * Replaces what stands in a document between `<!-- name -->` and `<!-- /name -->`.
 *
 * @throws Error if the document has no such place.
 */
export async function putInto(document: URL, name: string, text: string): Promise<void> {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const written = await readFile(document, "utf8");
  const [before, , ...rest] = written.split(new RegExp(`(?<=${start}\\n)|(?=${end})`));
  if (before === undefined || rest.length !== 1) throw new Error(`the document lacks ${start}`);
  await writeFile(document, `${before}\n${text.trimEnd()}\n\n${rest.join("")}`);
}
