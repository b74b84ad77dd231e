import type http from "node:http";
import { readBody, startServer } from "../listener/local-server.js";

/**
 * Where a gateway listens.
 *
 * @experimental
 */
export interface ApiAddress {
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1, which only this machine can reach. */
  readonly host?: string | undefined;
  /**
   * Names in `Host` besides the address, 127.0.0.1 and localhost, with or without a port: what other containers or a
   * proxy call it. Default none. A request with any other name, or with the `Origin` of a web page, is refused.
   */
  readonly allowHosts?: readonly string[] | undefined;
}

/**
 * A gateway that listens.
 *
 * @experimental
 */
export interface ListeningApi {
  /** The base URL of a management client. */
  readonly url: string;
  /** Accepts no more requests. Resolves when the running ones are answered, or after a second. */
  readonly close: () => Promise<void>;
}

/** Answers a request. */
type Answer = (url: string, init: RequestInit) => Promise<Response>;

/** Serves a function from `Request` to `Response` over HTTP. Rejects if the address is not available. */
export async function serveApi(
  answer: Answer,
  { port = 0, host = "127.0.0.1", allowHosts = [] }: ApiAddress = {},
): Promise<ListeningApi> {
  const listener = respond.bind(undefined, answer);
  const { url, close } = await startServer(listener, port, host, allowHosts);
  return { url: url.slice(0, -1), close };
}

async function respond(answer: Answer, req: http.IncomingMessage, res: http.ServerResponse) {
  const { method = "GET", url = "/" } = req;
  const body = await readBody(req);
  const headers = Object.entries(req.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = method !== "GET" && method !== "HEAD" && body.length > 0;
  const response = await answer(new URL(url, "http://gateway.example").href, {
    method,
    headers,
    ...(hasBody ? { body: new Uint8Array(body) } : {}),
  });
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(Buffer.from(await response.arrayBuffer()));
}
