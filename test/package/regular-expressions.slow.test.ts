import ts from "typescript";
import { expect, test } from "vitest";
import { sourcesIn, textOf } from "../support/package/sources.js";

/** A quadratic expression needs a quarter of a second for this many repetitions, and a linear one a millisecond. */
const REPETITIONS = 4_000;
const MIN_LENGTH = 20_000;
const ENOUGH_MS = 30;
const QUADRATIC = [/x+$/, `${"x".repeat(MIN_LENGTH)}y`] as const;

/** The list of all regular expressions of the package: those that meet foreign text are among them. */
const expressions = sourcesIn("src", "adapters", "kit", "cli").flatMap((file) =>
  literalsIn(file).map((literal) => [file, literal] as const),
);

function literalsIn(file: string): readonly string[] {
  const source = ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Texts that nearly match: what the expression names, alone and together, again and again. */
function attacks(source: string): readonly string[] {
  const words = source
    .replaceAll(/\\[bBdDsSwWpP](?:\{[^}]*\})?|\(\?(?:[:=!]|<[=!]|<\w+>)/g, "|")
    .replaceAll(/\[(?:\\.|[^\]])*\]|(?<!\\)\{[^}]*\}/g, "|")
    .replaceAll(/\\(?=[^a-z0-9])/gi, "\0")
    .split(/(?<!\0)[|()*+?.^$]/)
    .map((word) => word.replaceAll("\0", ""))
    .filter((word) => word !== "");
  const chars = `${source.replaceAll(/[\\^$*+?(){}[\]|]/g, "").slice(0, 8)} \n0\\"é`.split(/(?:)/u);
  const pumps = [...chars, ...words.flatMap((word) => [word, `\n${word}`, `${word} `])];
  return [...new Set(pumps)].flatMap((pump) => {
    const text = pump.repeat(Math.max(REPETITIONS, MIN_LENGTH / pump.length));
    return [text, words.join("") + text];
  });
}

/** The processor time of a search, the least of three: a busy machine does not make it longer, but the collector does. */
function processorMs(expression: RegExp, text: string): number {
  let least = Infinity;
  for (let run = 0; run < 3 && least > ENOUGH_MS; run++) {
    const before = process.cpuUsage();
    text.match(expression);
    least = Math.min(least, process.cpuUsage(before).user / 1_000);
  }
  return least;
}

test.each(expressions)("%s: the time of %s grows no faster than its text", (_file, literal) => {
  const end = literal.lastIndexOf("/");
  const [source, flags] = [literal.slice(1, end), literal.slice(end + 1)];
  const expression = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  for (const text of attacks(source)) {
    const ms = processorMs(expression, text);
    // Beside it in time, and so on the same machine.
    const limitMs = ms < ENOUGH_MS ? ENOUGH_MS : processorMs(...QUADRATIC) / 4;
    expect(ms, JSON.stringify(text.slice(0, 80))).toBeLessThan(limitMs);
  }
});
