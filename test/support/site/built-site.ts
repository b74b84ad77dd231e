import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { REPOSITORY } from "../package/installed-package.js";
import { listenHttp } from "../servers.js";

/** The folder that `npm run docs:build` writes. */
export const SITE = path.join(REPOSITORY, "reports/site-built");

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
