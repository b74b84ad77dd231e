import { connect } from "node:net";
import { sendFault } from "../send/exchange.js";

/** The reason why a URL's host and port accept no connection. Undefined if they do. */
export function unreachableReason(url: URL, timeoutMs: number): Promise<string | undefined> {
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (reason: string | undefined): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.on("connect", () => {
      finish(undefined);
    });
    socket.on("timeout", () => {
      finish(`no connection within ${timeoutMs} ms`);
    });
    socket.on("error", (error) => {
      // For several addresses the error is a list, in the shape that `sendFault` reads.
      finish(sendFault(new Error(error.message, { cause: error })));
    });
  });
}
