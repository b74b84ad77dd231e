/** One entry's public types as API Extractor prints them, taken apart. */
interface Report {
  readonly imports: readonly string[];
  readonly declarations: readonly string[];
}

/** The entry whose report also shows the types that no entry exports. */
const ROOT = "index";

const CODE = /\n```ts\n\n(.*?)\n\n(?:\/\/ \(No @packageDocumentation[^\n]*\n\n)?```\n$/s;
/** Each declaration starts with a comment that names its release tag. */
const DECLARATION_START = /\n\n(?=\/\/ @(?:public|beta|alpha|internal)\b)/;

/**
 * Our reports by the name of their entry, made from API Extractor's. A declaration that an entry does not
 * export is left out where another report shows it: API Extractor repeats the core in each report that
 * names a receiver, so one changed option would be a difference in all of them.
 */
export function ownReports(extracted: ReadonlyMap<string, string>): Map<string, string> {
  const reports = Array.from(extracted, ([name, text]) => [name, parse(name, text)] as const);
  const shownElsewhere = new Set(
    reports.flatMap(([name, { declarations }]) =>
      declarations
        .filter((declaration) => name === ROOT || isExported(declaration))
        .map((declaration) => declaration.replace("\nexport ", "\n")),
    ),
  );
  return new Map(
    reports.map(([name, { imports, declarations }]) => {
      const own = declarations.filter((text) => name === ROOT || !shownElsewhere.has(text));
      return [name, print(name, { imports: usedImports(imports, own), declarations: own })];
    }),
  );
}

/** The exports of one of our reports that have no docstring. An overload counts by itself. */
export function undocumentedExports(report: string): string[] {
  const headings = report.matchAll(/^\/\/ @\w+ .*\(undocumented\)\nexport (.+)$/gm);
  return Array.from(headings, ([, heading = ""]) => heading);
}

function parse(name: string, text: string): Report {
  const [, code] = CODE.exec(text) ?? [];
  if (code === undefined) throw new Error(`The report of ${name} has an unknown layout`);
  const [first = "", ...rest] = code.split(DECLARATION_START);
  // Without an import the code starts with a declaration.
  return first.startsWith("import ")
    ? { imports: first.split("\n"), declarations: rest }
    : { imports: [], declarations: [first, ...rest] };
}

function isExported(declaration: string): boolean {
  return declaration.includes("\nexport ");
}

function usedImports(imports: readonly string[], declarations: readonly string[]): string[] {
  const code = declarations.join("\n");
  return imports.filter((line) => {
    const [, name] = /(\w+)(?: \})? from /.exec(line) ?? [];
    return name === undefined || new RegExp(`\\b${name}\\b`).test(code);
  });
}

function print(name: string, { imports, declarations }: Report): string {
  const subpath = name === ROOT ? "" : `/${name}`;
  return `# Public API of \`identity-gateway-webhooks${subpath}\`

\`npm run generate\` writes this file from the built declarations with [API Extractor](https://api-extractor.com/).
A type without \`export\` cannot be imported, but users meet it as the type of something that can.

\`\`\`ts
${[imports.join("\n"), ...declarations].filter((part) => part !== "").join("\n\n")}
\`\`\`
`;
}
