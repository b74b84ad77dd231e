import { createRequire } from "node:module";
import { installPackages } from "../platforms/install.js";

/** Installs the packages of a folder of `test/platforms/`, if `npm run test:all` has not done so. Returns the folder. */
export async function installPlatform(folder: string): Promise<URL> {
  await installPackages(folder);
  return new URL(`../platforms/${folder}/`, import.meta.url);
}

/** Loads a package of a folder of `test/platforms/`, after `installPlatform`. */
export function loadFrom(root: URL, name: string): unknown {
  return createRequire(new URL("package.json", root))(name) as unknown;
}
