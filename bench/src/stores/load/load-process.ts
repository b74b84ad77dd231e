import { bodyOf, signedHeaders } from "../../deliveries.js";
import { PATH } from "../../http/measured-server.js";
import { answerOrders } from "../child-process.js";
import { KeepAliveClient } from "./keep-alive-client.js";

/** What the load generator is told. */
export type LoadOrder =
  /** Opens the connections to a contender, and closes those that it had. */
  | {
      readonly order: "connect";
      readonly contender: string;
      readonly port: number;
      readonly connections: number;
    }
  /** Signs the deliveries of the next round, each with a new id. */
  | { readonly order: "sign"; readonly count: number }
  /** Sends them. The reply is a `RoundResult`. */
  | { readonly order: "send"; readonly contender: string }
  /** Signs and sends so many each second, whether or not earlier ones are answered. The same reply. */
  | {
      readonly order: "pace";
      readonly contender: string;
      readonly perSecond: number;
      readonly seconds: number;
    };

const body = bodyOf("1 KB");
const clients = new Map<string, KeepAliveClient>();
let requests: Buffer[] = [];

function newRequest(): Buffer {
  const headers = {
    host: "partner.example",
    "user-agent": "identity-gateway",
    accept: "application/json",
    "content-type": "application/json",
    "content-length": String(body.bytes.length),
    ...signedHeaders(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${PATH} HTTP/1.1\r\n${lines.join("")}\r\n`), body.bytes]);
}

answerOrders(async (order: LoadOrder) => {
  switch (order.order) {
    case "connect":
      clients.get(order.contender)?.close();
      clients.set(order.contender, await KeepAliveClient.open(order.port, order.connections));
      return undefined;
    case "sign":
      requests = Array.from({ length: order.count }, newRequest);
      return undefined;
    case "send":
      return clients.get(order.contender)?.send(requests);
    case "pace":
      return clients.get(order.contender)?.pace(newRequest, order.perSecond, order.seconds);
  }
});
