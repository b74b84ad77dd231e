import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../support/free-port.js";
import type { Front } from "./judge.js";

/** Debian's nginx. */
const NGINX = "/usr/sbin/nginx";

/** What this machine lacks. Undefined if nginx can run. */
export const missingNginx = (): string | undefined =>
  existsSync(NGINX) ? undefined : `${NGINX} is not installed`;

/** Directives of a proxy, by the block in which they stand. FOLDER is a folder of its own. */
export interface ProxyLines {
  readonly http?: string;
  readonly upstream?: string;
  readonly server?: string;
  readonly location?: string;
}

/** nginx in front of a receiver, as a careful partner would set it up, with more directives. */
export function behindNginx(lines: ProxyLines): Front {
  return async (upstream) => {
    const folder = mkdtempSync(path.join(tmpdir(), "igw-nginx-"));
    const port = await freePort();
    const own = (block: keyof ProxyLines): string =>
      (lines[block] ?? "").replaceAll("FOLDER", folder);
    const file = path.join(folder, "nginx.conf");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
      events { worker_connections 1024; }
      http {
        access_log off;
        ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}
        ${own("http")}
        upstream app { server ${upstream}; ${own("upstream")} }
        server {
          listen 127.0.0.1:${port};
          client_max_body_size 2m;
          ${own("server")}
          location / { proxy_pass http://app; ${own("location")} }
          location /page { return 200 ok; }
        }
      }`,
    );
    const child = spawn(NGINX, ["-c", file, "-p", folder], { stdio: "ignore" });
    while (!(await isListening(port)) && child.exitCode === null) await wait(20);
    return {
      host: `127.0.0.1:${port}`,
      stop() {
        child.kill("SIGKILL");
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
