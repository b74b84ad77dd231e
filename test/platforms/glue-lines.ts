import ts from "typescript";

/** The lines of a JavaScript or TypeScript file that hold code, so neither blank ones nor comments. */
export function glueLines(code: string): number {
  const file = ts.createSourceFile("app.tsx", code, ts.ScriptTarget.Latest);
  const lines = new Set<number>();
  const walk = (node: ts.Node): void => {
    const parts = node.getChildren(file).filter((part) => !ts.isJSDoc(part));
    for (const part of parts) walk(part);
    if (parts.length > 0 || node.getWidth(file) === 0) return;
    const first = file.getLineAndCharacterOfPosition(node.getStart(file)).line;
    const { line: last } = file.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = first; line <= last; line++) lines.add(line);
  };
  walk(file);
  return lines.size;
}
