import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles a Worker as wrangler does, minified by `wrangler deploy --minify`; returns its module's text. */
export async function bundleWorker(entry: URL, minify = false): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    minify,
    write: false,
    format: "esm",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:*"],
    // Without the `paths` of tsconfig.json, which point `#crypto` at a source file.
    tsconfigRaw: "{}",
    logLevel: "error",
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error("esbuild wrote no file");
  return file.text;
}
