/** Maximum depth of JSON inside JSON. Real data has fewer levels. */
const MAX_LEVELS = 8;

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * The readings of a text: unchanged, then with one more level of JSON escapes undone each time, and finally
 * percent-decoded and with numeric HTML references resolved.
 */
export function readableForms(text: string): ReadonlySet<string> {
  const forms = new Set<string>();
  let form = text;
  for (let level = 0; level < MAX_LEVELS; level++) {
    forms.add(plain(form));
    const next = unescaped(form);
    if (next === form) break;
    form = next;
  }
  return forms.add(plain(webDecoded(form)));
}

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([^u]))/g, (_, code?: string, character = "") =>
    code === undefined
      ? (ESCAPES[String(character)] ?? String(character))
      : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function webDecoded(text: string): string {
  const withoutReferences = text.replace(
    /&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));/gi,
    (reference: string, hexadecimal?: string, decimal?: string) => {
      const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : reference;
    },
  );
  return withoutReferences.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

/** The text with ASCII digits, plain hyphens and spaces, and without invisible characters. */
function plain(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/[\u00AD\u200B-\u200F\u2060\uFEFF]/g, "")
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[^\S\n]/g, " ");
}
