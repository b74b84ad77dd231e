import type { RequestListener, Server } from "node:http";
import { shadow, type ShadowDifference } from "../../adapters/shadow/shadow.js";
import { TEST_SECRET } from "../support/deliveries.js";
import type { Ledger } from "../support/ledger.js";

/** Puts a shadow in front of a server's own listeners. Its answers must stay as they are. */
export function behindShadow(createServer: (ledger: Ledger) => Server) {
  const compare = shadow({ secret: TEST_SECRET });
  return {
    createServer: (ledger: Ledger): Server => {
      const server = createServer(ledger);
      const listeners = server.listeners("request") as RequestListener[];
      server.removeAllListeners("request");
      return server.on("request", (request, response) => {
        compare.node(request, response, () => {
          for (const listener of listeners) listener(request, response);
        });
      });
    },
    /** What the shadow has found so far. */
    differences: () => Object.keys(compare.counts().differences) as ShadowDifference[],
  };
}
