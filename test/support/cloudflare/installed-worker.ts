import path from "node:path";
import { pathToFileURL } from "node:url";
import { TEST_SECRET } from "../../../kit/index.js";
import { installPackage } from "../package/installed-package.js";
import { bundleWorker } from "./bundle-worker.js";
import type { WorkerOptions } from "./miniflare.js";

/** Bundles a file of the repository as the Worker of a project with nothing but the packed package. */
export async function installedWorker(file: string): Promise<WorkerOptions> {
  const project = installPackage("module");
  try {
    project.copy(file, "worker.mjs");
    const script = await bundleWorker(pathToFileURL(path.join(project.folder, "worker.mjs")));
    const bindings = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET };
    return { script, d1Databases: { DB: "db" }, bindings };
  } finally {
    project.remove();
  }
}
