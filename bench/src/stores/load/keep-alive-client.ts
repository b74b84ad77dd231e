import { connect, type Socket } from "node:net";
import { once } from "node:events";

/** How a round went. */
export interface RoundResult {
  readonly seconds: number;
  /** Deliveries that were answered 200. */
  readonly good: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const END_OF_HEAD = "\r\n\r\n";

/**
 * Connections that each send one request after the other, with as little work as possible: the requests are
 * ready, and only the status of an answer is read.
 */
export class KeepAliveClient {
  readonly #sockets: Socket[] = [];

  static async open(port: number, connections: number): Promise<KeepAliveClient> {
    const client = new KeepAliveClient();
    for (let opened = 0; opened < connections; opened++) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      await once(socket, "connect");
      client.#sockets.push(socket);
    }
    return client;
  }

  /** Sends each request once. @throws Error if a connection ends. */
  async send(requests: Buffer[]): Promise<RoundResult> {
    const times: number[] = [];
    const count = { good: 0 };
    const start = performance.now();
    await Promise.all(this.#sockets.map((socket) => sendFrom(socket, requests, times, count)));
    const seconds = (performance.now() - start) / 1_000;
    times.sort((a, b) => a - b);
    const at = (part: number): number => times[Math.floor((times.length - 1) * part)] ?? Number.NaN;
    return { seconds, good: count.good, p50Ms: at(0.5), p99Ms: at(0.99) };
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function sendFrom(
  socket: Socket,
  requests: Buffer[],
  times: number[],
  count: { good: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let received = "";
    const finish = (error?: Error): void => {
      socket.off("data", take).off("error", finish).off("close", closed);
      if (error === undefined) resolve();
      else reject(error);
    };
    const closed = (): void => {
      finish(new Error("the receiver closed a connection"));
    };
    const sendNext = (): void => {
      const request = requests.pop();
      if (request === undefined) {
        finish();
        return;
      }
      sentAt = performance.now();
      socket.write(request);
    };
    const take = (chunk: Buffer): void => {
      received += chunk.toString("latin1");
      const length = answerLength(received);
      if (length === undefined || received.length < length) return;
      times.push(performance.now() - sentAt);
      if (received.startsWith("HTTP/1.1 200")) count.good += 1;
      received = "";
      sendNext();
    };
    socket.on("data", take).on("error", finish).on("close", closed);
    sendNext();
  });
}

/** Bytes of the whole answer. Undefined as long as its headers are incomplete. */
function answerLength(received: string): number | undefined {
  const end = received.indexOf(END_OF_HEAD);
  if (end === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1];
  if (length === undefined) throw new Error("an answer without Content-Length");
  return end + END_OF_HEAD.length + Number(length);
}
