import http from "node:http";
import { createLedger } from "../support/ledger.js";
import { listenHttp } from "../support/servers.js";

/**
 * A ledger that the handlers of other processes write into, by `POST /<id>`. The answer is 503 while handlers are to
 * fail, and late while they are to be slow.
 */
export async function startLedgerServer() {
  const ledger = createLedger();
  const record = async (id: string) => {
    try {
      await ledger.record({ id });
      return 204;
    } catch {
      return 503;
    }
  };
  const server = http.createServer((req, res) => {
    void record(decodeURIComponent(String(req.url).slice(1))).then((status) => {
      res.writeHead(status).end();
    });
  });
  const { url, close } = await listenHttp(server);
  return {
    ledger,
    /** What an id is appended to. */
    url: `${url}/`,
    close,
  };
}
