/** Reports what an XML parser would refuse. Knows only the XML that reports and pictures use. */
export function xmlFault(xml: string): string | undefined {
  const open: string[] = [];
  const token = /<\?xml [^>]*\?>|<(\/?)([a-z]+)((?: [A-Za-z:-]+="[^"<]*")*)(\/?)>|([^<>]+)/gy;
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex;
    const match = token.exec(xml);
    if (match === null) return `no XML at ${xml.slice(at, at + 40)}`;
    const [whole, close, name, , empty] = match;
    if (/&(?!(amp|lt|gt|quot|#10|#9);)/.test(whole)) return `no entity in ${whole}`;
    // Char of XML 1.0.
    if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(whole)) return "no Char";
    if (name === undefined || empty === "/") continue;
    if (close === "/" && open.pop() !== name) return `</${name}> closes nothing`;
    if (close === "") open.push(name);
  }
  return open.length > 0 ? `${open.join()} is not closed` : undefined;
}
