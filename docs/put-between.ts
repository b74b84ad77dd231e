/** A document with what stands between `<!-- name -->` and `<!-- /name -->` made anew. */
export function putBetween(document: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
  const from = document.indexOf(start);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the document lacks ${start.trim()}`);
  return `${document.slice(0, from + start.length)}\n${text}\n\n${document.slice(to)}`;
}
