/** How a file of `init` is written. */
export interface Dialect {
  readonly isTypeScript: boolean;
  /** `import`, or `require`. TypeScript has `import` alone. */
  readonly isModule: boolean;
  readonly runner: string | undefined;
}

/** An example in the project's language, for its test runner. */
export function inDialect(text: string, { isTypeScript, isModule, runner }: Dialect): string {
  let out = text;
  if (runner === "vitest") out = out.replace('"node:test"', '"vitest"');
  if (runner === "jest" && out.includes('"node:test"')) {
    out = `/** @jest-environment node */\n${out}`
      .replace(/^import \{ test \} .*\n/m, "")
      .replace(/\{ timeout: ([\d_]+) \}, (\w+)\);/, "$2, $1);");
  }
  if (runner !== undefined) out = out.replace("void test(", "test(");
  if (!isTypeScript) out = withoutTypes(out);
  return isTypeScript || isModule ? out : inCommonJs(out);
}

/** Removes the types that the examples use. A type in braces has no braces in it. */
function withoutTypes(text: string): string {
  return text
    .replaceAll(/^(?:import )?type .*\n/gm, "")
    .replaceAll(/, type \w+|\btype \w+, /g, "")
    .replaceAll(/\b(Map|Promise)<[^()>]*>(?=\()/g, "$1")
    .replaceAll(/(?<=[\w}])\??: \{[^{}]*\}(?: \| \{[^{}]*\})*(?=\)| = \{\}\))/g, "")
    .replaceAll(/([(,] ?\w+): (?:string|Middleware|FastifyInstance)(?=[,)])/g, "$1")
    .replaceAll(/\): \w+ \{$/gm, ") {")
    .replaceAll(/ as \w+;/g, ";")
    .replaceAll(/"tsx", (?=`)/g, "");
}

function inCommonJs(text: string): string {
  const names = Array.from(
    text.matchAll(/^export (?:async )?function (\w+)/gm),
    ([, name]) => name,
  );
  const exported = names.length === 0 ? "" : `\nmodule.exports = { ${names.join(", ")} };\n`;
  const code = text
    .replaceAll(/^import ((?:(?!\nimport )[^"])+) from ("[^"]+");$/gm, "const $1 = require($2);")
    .replaceAll(/^export /gm, "");
  return `${code}${exported}`;
}
