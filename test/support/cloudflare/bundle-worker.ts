import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles a Worker as wrangler does; returns the text of its module. */
export async function bundleWorker(entry: URL): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
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
