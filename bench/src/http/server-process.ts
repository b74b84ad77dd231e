import { SERVERS, type ServerName } from "./servers.js";

/** What the load generator says: a round is about to begin, or it is over. */
export type Order =
  | { readonly order: "begin"; readonly from: number; readonly to: number }
  | { readonly order: "report" };

/** What the server answers. */
export type Report =
  | { readonly report: "listening"; readonly port: number }
  | { readonly report: "ready" }
  | {
      readonly report: "round";
      /** Records that the handler got. A duplicate or a refused delivery never gets there. */
      readonly handled: number;
      /** CPU time between the two requests, in microseconds, of all threads of this process. */
      readonly cpuUs: number;
    };

let seen = 0;
let handled = 0;
let window = { from: 0, to: 0 };
let begun = process.cpuUsage();
let used = { user: 0, system: 0 };

const server = await SERVERS[process.argv[2] as ServerName].create(async () => {
  handled += 1;
  return Promise.resolve();
});
// The window opens after the connections are made and closes before they end, so that their cost,
// which is no part of a request's, is not spread over the requests.
server.on("request", () => {
  seen += 1;
  if (seen === window.from) begun = process.cpuUsage();
  if (seen === window.to) used = process.cpuUsage(begun);
});

const tell = (report: Report): void => {
  process.send?.(report);
};

process.on("message", (message: Order) => {
  if (message.order === "begin") {
    window = { from: message.from, to: message.to };
    seen = 0;
    handled = 0;
    used = { user: 0, system: 0 };
    tell({ report: "ready" });
  } else {
    tell({ report: "round", handled, cpuUs: used.user + used.system });
  }
});
process.on("disconnect", () => {
  process.exit();
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  tell({ report: "listening", port: address.port });
});
