import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { recordOf, type WireRequest } from "../../../kit/sending/wire.js";
import type { AdapterAnswer } from "./adapter-exchange.js";

/** A client of one server. */
export type HttpClient = ReturnType<typeof http1Client>;

/** A client for HTTP/1.1 that keeps its connections alive. `ca` for HTTPS. */
export function http1Client(port: number, ca?: string) {
  const { Agent, request: start } = ca === undefined ? http : https;
  const agent = new Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) });
  const sockets = new Set<unknown>();

  return {
    send: ({ method, headers, body, chunked = false }: WireRequest) =>
      new Promise<AdapterAnswer>((resolve, reject) => {
        // Node adds a Content-Length to a body in one piece.
        const length = body === undefined ? {} : { "content-length": body.length };
        const framing = chunked ? { "transfer-encoding": "chunked" } : length;
        const req = start({
          agent,
          host: "127.0.0.1",
          port,
          method,
          headers: { ...recordOf(headers), ...framing },
        });
        req.on("socket", (socket) => sockets.add(socket));
        req.on("response", (res) => {
          // A server that refuses an upload closes the connection, perhaps while it is being written.
          req.off("error", reject).on("error", () => undefined);
          const chunks: Buffer[] = [];
          res.on("data", (chunk: Buffer) => chunks.push(chunk));
          res.on("error", reject);
          res.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: res.statusCode ?? 0, headers: plain(res.headers), body: text });
          });
        });
        req.on("error", reject);
        req.end(body);
      }),
    /** How many connections it has made. */
    connections: () => sockets.size,
    close: (): void => agent.destroy(),
  };
}

/** A client for HTTP/2 with one session, and a new one when that is closed. `ca` for TLS; without it, cleartext. */
export function http2Client(port: number, ca?: string): HttpClient {
  const connect = () =>
    ca === undefined
      ? http2.connect(`http://127.0.0.1:${String(port)}`)
      : http2.connect(`https://127.0.0.1:${String(port)}`, { ca });
  let session = connect();
  let connections = 1;
  /** After GOAWAY a session takes no further stream and closes when its last one has ended. */
  const openSession = () => {
    if (session.closed || session.destroyed) {
      session = connect();
      connections += 1;
    }
    return session;
  };

  return {
    send: ({ method, headers, body, chunked = false }) =>
      new Promise((resolve, reject) => {
        const length = !chunked && body !== undefined ? { "content-length": body.length } : {};
        const lines = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
        const stream = openSession().request(
          { ...recordOf(lines), ...length, ":method": method, ":path": "/" },
          { endStream: body === undefined },
        );
        let head: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
        const chunks: Buffer[] = [];
        stream.on("response", (received) => (head = received));
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", reject);
        stream.on("end", () => {
          const { ":status": status = 0, ...rest } = head;
          resolve({ status, headers: plain(rest), body: Buffer.concat(chunks).toString() });
        });
        if (body !== undefined) stream.end(body);
      }),
    connections: () => connections,
    close: () => session.destroy(),
  };
}

function plain(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value)] as const),
  );
}
