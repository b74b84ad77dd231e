// Run by `npm test`: installs the folders of test/platforms/ whose packages tests import or start.
import { installPackages } from "./install.js";

const FOLDERS = ["fastify", "koa", "workerd"];

for (const folder of FOLDERS) await installPackages(folder);
