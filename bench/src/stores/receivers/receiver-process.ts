import { createServer, type RequestListener } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type * as library from "identity-gateway-webhooks";
import type * as node from "identity-gateway-webhooks/node";
import { SECRET } from "../../deliveries.js";
import { answerOrders } from "../child-process.js";
import type { Place } from "../engines/engine.js";
import { ROWS, type RowName } from "../rows.js";
import { byHandListener } from "./by-hand-listener.js";
import { partsOf, type Contenders } from "./contender.js";

/** What the process is told. `listen` comes first and once. */
export type ReceiverOrder =
  | {
      readonly order: "listen";
      readonly row: RowName;
      readonly place: Place;
      /** The folder of the package. Undefined: the hand-written receiver. */
      readonly package: string | undefined;
    }
  /** A round begins. */
  | { readonly order: "begin" }
  /** A round has ended. */
  | { readonly order: "end" };

/** The reply to `listen` is the port, to `begin` nothing, and to `end` this. */
export interface ReceiverRound {
  /** How many deliveries were handled. Duplicates and refused ones are not. */
  readonly handled: number;
  /** CPU time of all threads of this process since `begin`, in microseconds. */
  readonly cpuUs: number;
  /** The 99th percentile of the time by which a timer came late, in milliseconds. */
  readonly delayMs: number;
}

const RESOLUTION_MS = 2;

let handled = 0;
let begun = process.cpuUsage();
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

async function ourListener(
  contenders: Contenders,
  folder: string,
  place: Place,
): Promise<RequestListener> {
  const load = partsOf(folder);
  const { createWebhookReceiver } = await load<typeof library>("index");
  const { nodeHandler } = await load<typeof node>("node");
  const { store, newAlarm = () => Promise.resolve() } = await contenders.ours(load, place);
  const options = {
    secret: SECRET,
    handlers: {
      new_alarm: (alarm, context) => {
        handled += 1;
        return newAlarm(alarm, context);
      },
    },
    ...(store === undefined ? {} : { store }),
  } as library.WebhookReceiverOptions<unknown>;
  const receiver = createWebhookReceiver(options);
  return nodeHandler(receiver);
}

async function listen(row: RowName, place: Place, folder: string | undefined): Promise<number> {
  const contenders = await ROWS[row].contenders();
  const listener =
    folder === undefined
      ? byHandListener(await contenders.byHand(place), () => Promise.resolve((handled += 1)))
      : await ourListener(contenders, folder, place);
  const server = createServer(listener);
  // The load generator keeps its connections open between the rounds.
  server.keepAliveTimeout = 0;
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("no port was given");
      resolve(address.port);
    });
  });
}

answerOrders((order: ReceiverOrder) => {
  switch (order.order) {
    case "listen":
      return listen(order.row, order.place, order.package);
    case "begin":
      handled = 0;
      delay.reset();
      begun = process.cpuUsage();
      return undefined;
    case "end": {
      const { user, system } = process.cpuUsage(begun);
      const delayMs = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
      return { handled, cpuUs: user + system, delayMs } satisfies ReceiverRound;
    }
  }
});
