import type { WebhookReceiver } from "../../../src/index.js";
import type { WebhookTarget } from "../../../kit/sending/target.js";
import { recordOf, type WireRequest } from "../../../kit/sending/wire.js";
import type { AdapterTarget } from "./adapter-exchange.js";
import { http1Client, http2Client, type HttpClient } from "./http-clients.js";
import type { CreateServer } from "../listening-receiver.js";
import { listen, testCertificate } from "../servers.js";

/** The client for a server. */
interface Speech {
  readonly connect: (port: number) => HttpClient;
  /** The target for the testing kit, which speaks HTTP/1.1 only. */
  readonly targetOf: (port: number, client: HttpClient) => WebhookTarget;
}

const http1: Speech = {
  connect: http1Client,
  targetOf: (port) => `http://127.0.0.1:${port}/`,
};

export const https1: Speech = {
  connect: (port) => http1Client(port, testCertificate.cert),
  targetOf: (port) => `https://127.0.0.1:${port}/`,
};

export const clearHttp2: Speech = {
  connect: http2Client,
  targetOf: (_port, client) => fetchOver(client),
};

export const secureHttp2: Speech = {
  connect: (port) => http2Client(port, testCertificate.cert),
  targetOf: (_port, client) => fetchOver(client),
};

/** `fetch` by a client of ours. */
export function fetchOver({ send }: Pick<HttpClient, "send">) {
  return async (request: Request): Promise<Response> => {
    const chunked = !request.headers.has("content-length");
    const headers = [...request.headers].filter(([name]) => name !== "content-length");
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const { method } = request;
    const { body: text, ...answer } = await send({ method, headers, body, chunked });
    return new Response(text, answer);
  };
}

/** A server, and a client to it over real HTTP. */
export function overHttp(
  name: string,
  createServer: CreateServer,
  { connect, targetOf }: Speech = http1,
): AdapterTarget {
  return {
    name,
    async open(receiver) {
      const server = await listen(await createServer(receiver, {}));
      const client = connect(server.port);
      return {
        target: targetOf(server.port, client),
        send: client.send,
        connections: client.connections,
        close() {
          client.close();
          return server.close();
        },
      };
    },
  };
}

/** A function from `Request` to `Response`, called without a server. */
export function inProcess(
  name: string,
  mount: (receiver: WebhookReceiver) => (request: Request) => Response | Promise<Response>,
): AdapterTarget {
  return {
    name,
    open(receiver) {
      const handle = mount(receiver);
      return Promise.resolve({
        target: handle,
        async send(request) {
          const response = await handle(requestOf(request));
          const headers = Object.fromEntries(response.headers);
          return { status: response.status, headers, body: await response.text() };
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

/** A request as the Fetch API has it. */
export function requestOf({ method, headers, body, chunked = false }: WireRequest): Request {
  const lines = headers.map(([name, value]): [string, string] => [name, value]);
  const isDeclared = body !== undefined && !chunked;
  const length: [string, string][] = isDeclared ? [["content-length", String(body.length)]] : [];
  return new Request("http://gateway.example/", {
    method,
    headers: [...lines, ...length],
    ...(body === undefined ? {} : { body }),
  });
}

/** `receive` itself. All adapters must agree with it. */
export const directTarget: AdapterTarget = {
  name: "receive",
  open: (receiver) =>
    Promise.resolve({
      target: receiver,
      send: ({ method, headers, body = new Uint8Array(0) }) =>
        receiver.receive({ method, headers: recordOf(headers), body }),
      close: () => Promise.resolve(),
    }),
};
