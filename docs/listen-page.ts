import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const FOLDER = fileURLToPath(new URL("../cli/page/browser/", import.meta.url));
const MAX_BYTES = 30_000;

/** `cli/page/page-html.ts`: the page of `listen --page` as one text, with its style and script. */
export async function listenPage(): Promise<string> {
  const read = (file: string): string => readFileSync(path.join(FOLDER, file), "utf8");
  const bundled = async (file: string): Promise<string> => {
    const entryPoints = [path.join(FOLDER, file)];
    const options = { bundle: true, minify: true, write: false, charset: "utf8" } as const;
    const { outputFiles } = await build({ ...options, entryPoints, target: "chrome120" });
    return outputFiles[0]?.text.trim() ?? "";
  };
  const [style, script] = await Promise.all([bundled("page.css"), bundled("main.ts")]);
  const html = read("page.html")
    .replace("/*style*/", () => style)
    .replace("/*script*/", () => script);
  const bytes = Buffer.byteLength(html);
  if (bytes > MAX_BYTES) throw new Error(`the page of listen has ${String(bytes)} bytes`);
  return `// Made by npm run generate from browser/.\nexport const PAGE_HTML = ${JSON.stringify(html)};\n`;
}
