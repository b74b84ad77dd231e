import { existsSync } from "node:fs";
import { installPackages } from "../../test/platforms/install.js";

/** The packages of the servers that the demo starts itself. */
const FOLDER = new URL("../../test/platforms/", import.meta.url);

/** Installs the packages of one server, unless they are there. Returns their package.json. */
export async function installServer(folder: string, what: string): Promise<URL> {
  const root = new URL(`${folder}/`, FOLDER);
  if (!existsSync(new URL("node_modules/.installed", root))) {
    console.log(`installing ${what} in test/platforms/${folder}, once`);
  }
  await installPackages(folder);
  return new URL("package.json", root);
}
