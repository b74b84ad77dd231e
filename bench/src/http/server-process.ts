import { SERVERS, type ServerName } from "./servers.js";

/** Messages of the load generator: a round begins, or it has ended. */
export type Order =
  | { readonly order: "begin"; readonly from: number; readonly to: number }
  | { readonly order: "report" };

/** Messages of the server. */
export type Report =
  | { readonly report: "listening"; readonly port: number }
  | { readonly report: "ready" }
  | {
      readonly report: "round";
      /** How many records the handler got. Duplicates and refused deliveries never reach it. */
      readonly handled: number;
      /** CPU time of all threads of this process between the two requests, in microseconds. */
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
// Measures after the connections are open and before they close, so that the cost of connections is not
// counted as the cost of requests.
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
