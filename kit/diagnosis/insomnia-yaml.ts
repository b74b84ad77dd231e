/** How an export of Insomnia 5 begins. */
const START = /^(?:---\s+)?type: \w+\.insomnia\./;
/** A key at the beginning of a line, after the dashes of the lists in which its map is the next entry. */
const KEY = /( *)((?:- +)*)([\w.$-]+|"[^"\n]*"|'[^'\n]*'):(?: +(?=[^ \t\n])|[ \t]*(?=\n|$))/y;
const QUOTED = /'(?:[^']|'')*'|"(?:[^"\\]|\\[^])*"/y;
const BLOCK = /([|>])(\d?)([-+]?)[^\n]*\n/y;
/** The letters of escapes, and in the same order what they stand for. */
const LETTERS = "0abtnvfre_NLP";
const MEANINGS = "\0\x07\b\t\n\v\f\r\x1b\xa0\x85\u2028\u2029";

export function isInsomniaYaml(text: string): boolean {
  return START.test(text);
}

/** Reads the YAML that Insomnia 5 writes: maps, lists of maps, and texts in each of YAML's five styles. */
export function readInsomniaYaml(capture: string): unknown {
  const text = capture.replaceAll("\r\n", "\n");
  const root: Record<string, unknown> = {};
  let inner = { column: 0, map: root, key: "" };
  const outer: (typeof inner)[] = [];
  for (let at = 0; at < text.length;) {
    KEY.lastIndex = at;
    const found = KEY.exec(text);
    if (found !== null) {
      const [whole, indent = "", dashes = "", key = ""] = found;
      const column = indent.length + dashes.length;
      while (inner.column > column || (dashes !== "" && inner.column === column)) {
        const next = outer.pop();
        if (next === undefined) break;
        inner = next;
      }
      if (inner.column < column) {
        const map = {};
        const list = inner.map[inner.key];
        if (dashes !== "" && Array.isArray(list)) list.push(map);
        else inner.map[inner.key] = dashes === "" ? map : [map];
        outer.push(inner);
        inner = { column, map, key };
      }
      inner.key = key;
      [inner.map[key], at] = textAt(text, at + whole.length, column);
    }
    at = text.indexOf("\n", at) + 1 || text.length;
  }
  return root;
}

/** The text that begins here, and where it ends. `column`: of its key. */
function textAt(
  text: string,
  start: number,
  column: number,
): readonly [value: string, end: number] {
  QUOTED.lastIndex = BLOCK.lastIndex = start;
  const quoted = QUOTED.exec(text)?.[0];
  if (quoted !== undefined) return [unquoted(quoted), start + quoted.length];
  const [head = "", style, digit, chomp] = BLOCK.exec(text) ?? [];
  const isPlain = style === undefined;
  // What belongs to a text stands further to the right than its key.
  const within = ` {${column + 1}}[^\n]*`;
  const rest = isPlain ? `[^\n]+(?:\n${within})*` : `(?:(?:${within})?(?:\n|$(?!\n)))*`;
  const pattern = new RegExp(rest, "y");
  pattern.lastIndex = start + head.length;
  const body = pattern.exec(text)?.[0] ?? "";
  const end = start + head.length + body.length;
  if (isPlain) return [folded(body), end];
  const margin = digit
    ? column + Number(digit)
    : (/(?<![^\n]) *(?=[^ \n])/.exec(body)?.[0].length ?? Infinity);
  const lines = body
    .split("\n")
    .map((line) => line.slice(margin))
    .join("\n");
  const kept = chomp === "+" ? lines : lines.replace(/\n*$/, chomp === "-" ? "" : "\n");
  if (style === "|") return [kept, end - 1];
  // Lines that begin with white space are not joined.
  const joined = kept.replace(
    /(?<![^\n])([^ \t\n][^\n]*)\n(?=(\n*)[^ \t\n])/g,
    (_, line: string, blank: string) => (blank === "" ? `${line} ` : line),
  );
  return [joined, end - 1];
}

function unquoted(quoted: string): string {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith("'")) return folded(inner).replaceAll("''", "'");
  const whole = inner.replace(/\\(?:(\n[ \t]*)|[^])/g, (pair, cut?: string) =>
    cut === undefined ? pair : "",
  );
  return folded(whole).replace(
    /\\(?:x([\da-f]{2})|u([\da-f]{4})|([^]))/gi,
    (_, x: string | undefined, u: string | undefined, one: string | undefined) =>
      one === undefined
        ? String.fromCharCode(parseInt(u ?? x ?? "", 16))
        : (MEANINGS[LETTERS.indexOf(one)] ?? one),
  );
}

/** One newline is a space, and of several the first is left out. */
function folded(text: string): string {
  return text
    .replace(/(?<![ \t])[ \t]*\n[ \t]*/g, "\n")
    .replace(/\n(\n*)/g, (_, blank: string) => (blank === "" ? " " : blank));
}
