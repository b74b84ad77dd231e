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
    const round = new Round();
    const sendAll = async (socket: Socket): Promise<void> => {
      for (;;) {
        const request = requests.pop();
        if (request === undefined) return;
        await round.send(socket, request, performance.now());
      }
    };
    await Promise.all(this.#sockets.map(sendAll));
    return round.result();
  }

  /**
   * Sends so many requests each second. A request that finds no free connection waits for one, and its time
   * counts from when it was due. @throws Error if a connection ends.
   */
  async pace(makeRequest: () => Buffer, perSecond: number, seconds: number): Promise<RoundResult> {
    const round = new Round();
    const free = [...this.#sockets];
    const due: number[] = [];
    const sent: Promise<void>[] = [];
    const sendDue = (): void => {
      for (;;) {
        const [at, socket] = [due[0], free.pop()];
        if (at === undefined || socket === undefined) {
          if (socket !== undefined) free.push(socket);
          return;
        }
        due.shift();
        sent.push(
          round.send(socket, makeRequest(), at).then(() => {
            free.push(socket);
            sendDue();
          }),
        );
      }
    };
    const start = performance.now();
    const total = perSecond * seconds;
    for (let count = 0; count < total;) {
      const elapsedSeconds = (performance.now() - start) / 1_000;
      const dueBy = Math.min(total, Math.floor(elapsedSeconds * perSecond) + 1);
      for (; count < dueBy; count++) due.push(start + (count / perSecond) * 1_000);
      sendDue();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    while (sent.length < total) await sent.at(-1);
    await Promise.all(sent);
    return round.result();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The answers to some requests. */
class Round {
  readonly #start = performance.now();
  readonly #times: number[] = [];
  #good = 0;

  /** Sends a request that was due at a time, and resolves when it is answered. */
  send(socket: Socket, request: Buffer, dueAt: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let received = "";
      const finish = (error?: Error): void => {
        socket.off("data", take).off("error", finish).off("close", closed);
        if (error === undefined) resolve();
        else reject(error);
      };
      const closed = (): void => {
        finish(new Error("the receiver closed a connection"));
      };
      const take = (chunk: Buffer): void => {
        received += chunk.toString("latin1");
        const length = answerLength(received);
        if (length === undefined || received.length < length) return;
        this.#times.push(performance.now() - dueAt);
        if (received.startsWith("HTTP/1.1 200")) this.#good += 1;
        finish();
      };
      socket.on("data", take).on("error", finish).on("close", closed);
      socket.write(request);
    });
  }

  result(): RoundResult {
    const seconds = (performance.now() - this.#start) / 1_000;
    const times = this.#times.sort((a, b) => a - b);
    const at = (part: number): number => times[Math.floor((times.length - 1) * part)] ?? Number.NaN;
    return { seconds, good: this.#good, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}

/** Bytes of the whole answer. Undefined as long as its headers are incomplete. */
function answerLength(received: string): number | undefined {
  const end = received.indexOf(END_OF_HEAD);
  if (end === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1];
  if (length === undefined) throw new Error("an answer without Content-Length");
  return end + END_OF_HEAD.length + Number(length);
}
