import path from "node:path";
import { afterAll } from "vitest";
import { REPOSITORY, installPackage } from "./installed-package.js";

/** A partner's project: the packed tarball, installed, with the tools that the documents use. */
type PartnerProject = ReturnType<typeof installForPartner>;

const TYPED = ["express", "supertest", "better-sqlite3"];
const TOOLS = [...TYPED, ...TYPED.map((name) => `@types/${name}`), "vitest", "pino", "winston"];

/** A project for the tests of a file or a `describe`: installed at the first call, removed after them. */
export function partnerProject(...tools: readonly string[]): () => PartnerProject {
  let project: PartnerProject | undefined;
  afterAll(() => project?.remove());
  return () => (project ??= installForPartner(tools));
}

/** Installs the packed package, and links the tools. */
function installForPartner(more: readonly string[]) {
  const project = installPackage("module");
  for (const tool of new Set([...TOOLS, ...more])) project.borrow(tool);
  return {
    ...project,

    /** Type-checks files of the project; returns the compiler's complaints, or "". */
    compile: (files: readonly string[], tsc?: string, options: object = {}) => {
      const module = { module: "nodenext", moduleResolution: "nodenext", resolveJsonModule: true };
      return project.typeCheck({ ...module, ...options }, files, tsc);
    },

    /** Runs files in vitest; returns what it says. Throws where a test fails. */
    vitest: (...files: readonly string[]) => {
      const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
      // Its default is 5 s, which a busy machine may need to load the package.
      const argv = [vitest, "run", "--testTimeout=120000", "--root", project.folder, ...files];
      return project.node(argv, { NO_COLOR: "1" });
    },
  };
}
