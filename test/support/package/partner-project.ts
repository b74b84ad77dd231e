import path from "node:path";
import { REPOSITORY, installPackage, type InstalledPackage } from "./installed-package.js";

/** A partner's project: the packed tarball, installed, with the tools that the documents use. */
export interface PartnerProject extends InstalledPackage {
  /** Type-checks snippets as modules of their own; returns the compiler's complaints, or "". */
  readonly compile: (snippets: readonly string[]) => string;
  /** Runs files in vitest; returns what it says. Throws where a test fails. */
  readonly vitest: (...files: readonly string[]) => string;
}

/** Installs the packed package, and links the tools. */
export function installForPartner(): PartnerProject {
  const project = installPackage("module");
  const tools = [
    "express",
    "@types/express",
    "vitest",
    "supertest",
    "@types/supertest",
    "pino",
    "winston",
    "better-sqlite3",
    "@types/better-sqlite3",
  ];
  for (const tool of tools) project.borrow(tool);
  return {
    ...project,

    compile(snippets) {
      const files = snippets.map((code, index) => {
        const file = `snippet-${String(index)}.ts`;
        project.write(file, `${code}\nexport {};\n`);
        return file;
      });
      const options = { module: "nodenext", moduleResolution: "nodenext", resolveJsonModule: true };
      return project.typeCheck({ ...options, skipLibCheck: true }, files);
    },

    vitest(...files) {
      const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
      return project.node([vitest, "run", "--root", project.folder, ...files], { NO_COLOR: "1" });
    },
  };
}
