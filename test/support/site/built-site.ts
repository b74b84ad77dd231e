import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { REPOSITORY } from "../package/installed-package.js";
import { listenHttp } from "../servers.js";

/** The folder that `npm run docs:build` writes. */
export const SITE = path.join(REPOSITORY, "reports/site-built");

/** Runs `npm run docs:build`. Takes half a minute. */
export async function buildSite(): Promise<void> {
  const tsx = import.meta.resolve("tsx");
  const script = path.join(REPOSITORY, "docs/site/build.ts");
  const env = { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" };
  await promisify(execFile)(process.execPath, ["--import", tsx, script], { cwd: REPOSITORY, env });
}

/** The HTML pages of the site, by their paths below its root. */
export function builtPages(): readonly string[] {
  return readdirSync(SITE, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".html") && file !== "404.html")
    .sort();
}

/** A page's HTML. */
export function readPage(page: string): string {
  return readFileSync(path.join(SITE, page), "utf8");
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".md": "text/markdown; charset=utf-8",
};

/** Serves the site on a free port. */
export async function serveSite() {
  const server = http.createServer((req, res) => {
    const { pathname } = new URL(req.url ?? "/", "http://localhost");
    const file = path.join(
      SITE,
      decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname),
    );
    try {
      const content = readFileSync(file);
      const type = TYPES[path.extname(file)] ?? "application/octet-stream";
      res.writeHead(200, { "Content-Type": type }).end(content);
    } catch {
      res.writeHead(404).end();
    }
  });
  const { url, close } = await listenHttp(server);
  return { url: `${url}/`, close };
}
