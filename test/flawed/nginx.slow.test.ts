import { writeFileSync } from "node:fs";
import path from "node:path";
import { describeService } from "../support/describe-service.js";
import { isListening } from "../support/free-port.js";
import type { Ledger } from "../support/ledger.js";
import { findProgram, startServer } from "../support/server-process.js";
import { acquits, convicts, type Receiver } from "./convicts.js";
import { judge, type Front } from "./judge.js";
import { RightReceiver } from "./right-receiver.js";

const NGINX = findProgram("nginx", "/usr/sbin");
const KIND = "JavaScript behind nginx";

/** Directives of a proxy, by the block in which they stand. FOLDER is a folder of its own. */
interface ProxyLines {
  readonly http?: string;
  readonly server?: string;
  readonly location?: string;
}

/** What is wrong with a proxy in front of a right receiver, after "an nginx that". */
type Proxies = Readonly<Record<string, ProxyLines>>;

const PAGE = "=200 /page;";
const cachedBy = (key: string, valid: string): ProxyLines => ({
  http: "proxy_cache_path FOLDER/cache keys_zone=answers:1m;",
  location: `proxy_cache answers; proxy_cache_methods POST; proxy_cache_key ${key}; proxy_cache_valid ${valid};`,
});

/** One line or two that a partner may have in a proxy for other reasons, under the case that must convict it. */
const FLAWED: Readonly<Record<string, Proxies>> = {
  failure_sent_again: {
    "shows a page with 200 when the app fails": {
      location: `proxy_intercept_errors on; error_page 500 502 503 504 ${PAGE}`,
    },
    "caches every answer a minute by X-Webhook-Id": cachedBy("$http_x_webhook_id", "any 1m"),
  },
  late_failure_released: {
    "shows a page with 200 when the app is slow": {
      location: `proxy_read_timeout 2s; error_page 504 ${PAGE}`,
    },
  },
  other_id: {
    "caches a 200 five seconds by the signature": cachedBy("$http_x_webhook_signature", "200 5s"),
  },
  // A forger who knows an id is answered 200 too, though nothing of him gets in.
  forged_known_id: {
    "caches a 200 a minute by X-Webhook-Id": cachedBy("$http_x_webhook_id", "200 1m"),
  },
  big_alarm: {
    "passes on only bodies held in memory": {
      location: "proxy_set_body $request_body;",
    },
  },
  concurrent_deliveries: {
    "answers 200 to more than 50 requests a second": {
      http: "limit_req_zone $binary_remote_addr zone=rate:1m rate=50r/s;",
      location: `limit_req zone=rate burst=20 nodelay; error_page 503 ${PAGE}`,
    },
  },
};

/** Proxies that do something unusual and harmless. */
const HARMLESS: Proxies = {
  "does what the gateway asks for": {},
  "handles each request twice, of which one is refused": {
    server: "location /mirrored { internal; proxy_pass http://app/webhooks/gateway; }",
    location: "mirror /mirrored;",
  },
  "goes on when the client hangs up, over HTTP/1.1, unbuffered": {
    location:
      "proxy_ignore_client_abort on; proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off;",
  },
};

/** Right receivers behind proxies. */
const behind = (proxies: Proxies, handlerTimeoutMs?: number) =>
  Object.entries(proxies).map(([does, lines]): Receiver => ({
    does,
    judge: (only) => {
      const createServer = (ledger: Ledger) =>
        new RightReceiver(ledger, handlerTimeoutMs).createServer();
      return judge(createServer, {}, only, behindNginx(lines));
    },
  }));

describeService(KIND, NGINX === undefined ? "nginx is not installed" : undefined, () => {
  // An app that is slow is given up by nginx long before it answers.
  convicts(KIND, (proxies) => behind(proxies, 30_000), FLAWED);
  acquits(KIND, behind(HARMLESS));
});

/** nginx in front of a receiver, as a careful partner would set it up, with more directives. */
function behindNginx(lines: ProxyLines): Front {
  return async (upstream) => {
    const fileIn = (folder: string) => path.join(folder, "nginx.conf");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const { port, close } = await startServer({
      name: "nginx",
      command: NGINX ?? "nginx",
      args: (_port, folder) => ["-c", fileIn(folder), "-p", folder],
      prepare(folder, own) {
        const inBlock = (block: keyof ProxyLines) =>
          (lines[block] ?? "").replaceAll("FOLDER", folder);
        writeFileSync(
          fileIn(folder),
          `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
          events { worker_connections 1024; }
          http {
            access_log off;
            ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}
            ${inBlock("http")}
            upstream app { server ${upstream}; }
            server {
              listen 127.0.0.1:${own};
              client_max_body_size 2m;
              ${inBlock("server")}
              location / { proxy_pass http://app; ${inBlock("location")} }
              location /page { return 200 ok; }
            }
          }`,
        );
      },
      answers: isListening,
    });
    return { host: `127.0.0.1:${port}`, stop: close };
  };
}
