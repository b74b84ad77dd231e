import http from "node:http";
import { createLedger, type Ledger } from "../support/ledger.js";
import { listen, type RunningServer } from "../support/servers.js";

/** A ledger that the handlers of other processes write into. */
export interface LedgerServer extends RunningServer {
  readonly ledger: Ledger;
  /** What an id is appended to. */
  readonly url: string;
}

/** `POST /<id>` writes into the ledger, and is answered 503 while handlers are to fail, and late while they are to be slow. */
export async function startLedgerServer(): Promise<LedgerServer> {
  const ledger = createLedger();
  const record = async (id: string): Promise<number> => {
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
  const running = await listen(server);
  return {
    ...running,
    close() {
      server.closeAllConnections();
      return running.close();
    },
    ledger,
    url: `http://127.0.0.1:${running.port}/`,
  };
}
