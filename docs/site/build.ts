// npm run docs:build: writes the site to reports/site-built. -- --dev serves it while you read.
// DOCS_BASE is the path below which it will be served, by default "/".
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build, createServer } from "vitepress";
import { writeApiPages } from "./api-pages.js";
import { REPOSITORY } from "./navigation.js";
import { partsOf, sidebarOf } from "./sidebar.js";
import { stage } from "./stage.js";
import { writeTwins } from "./twins.js";

const base = process.env["DOCS_BASE"] ?? "/";
const folder = path.join(REPOSITORY, "reports/site");
const built = path.join(REPOSITORY, "reports/site-built");

rmSync(folder, { recursive: true, force: true });
const pages = stage(folder, base);
process.stdout.write(
  `${String(pages.length)} pages of documents; reading the API from the docstrings\n`,
);
const parts = partsOf(pages, await writeApiPages(folder));

const settings = path.join(folder, ".vitepress");
mkdirSync(path.join(settings, "theme"), { recursive: true });
copyFileSync(path.join(REPOSITORY, "docs/site/site.css"), path.join(settings, "theme/site.css"));
writeFileSync(
  path.join(settings, "theme/index.ts"),
  'import Theme from "vitepress/theme";\nimport "./site.css";\nexport default Theme;\n',
);
const facts = JSON.stringify({ base, sidebar: sidebarOf(parts) });
writeFileSync(
  path.join(settings, "config.ts"),
  `import { siteConfig } from "../../../docs/site/config.js";\nexport default siteConfig(${facts});\n`,
);

if (process.argv.includes("--dev")) {
  const server = await createServer(folder);
  await server.listen();
  server.printUrls();
} else {
  rmSync(built, { recursive: true, force: true });
  await build(folder);
  writeTwins(built, parts);
  process.stdout.write(
    `${path.relative(REPOSITORY, built)}: ${String(parts.flatMap((part) => part.pages).length)} pages\n`,
  );
}
