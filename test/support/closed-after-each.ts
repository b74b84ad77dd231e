import type http from "node:http";
import { afterEach } from "vitest";
import { listen } from "./servers.js";

/** What a test has opened. After each test all of it is closed, the last one first. */
export interface Closing {
  readonly push: (...closes: readonly (() => unknown)[]) => void;
  /** Starts a server, which closes with its connections. Resolves with its port. */
  readonly listen: (server: http.Server) => Promise<number>;
}

/** Called once, at the top of a test file. */
export function closedAfterEach(): Closing {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  return {
    push: (...closes) => closing.push(...closes),
    async listen(server) {
      const { port, close } = await listen(server);
      closing.push(() => {
        server.closeAllConnections();
        return close();
      });
      return port;
    },
  };
}
