// Calls the function as `vercel dev` does: its conversion of Node requests, and 405 to other methods.
import { buildToNodeHandler } from "@edge-runtime/node-utils";
import { createServer } from "node:http";
import * as methods from "./api/webhook.mjs";

class FetchEvent {
  waitUntil() {}
}

const refuse = () => Promise.resolve(new Response(null, { status: 405 }));
const defaultOrigin = "http://127.0.0.1";
// The conversion sends a request's body as a stream without saying so.
class StreamedRequest extends Request {
  constructor(url, init) {
    super(url, { ...init, duplex: "half" });
  }
}
const toNodeHandler = buildToNodeHandler(
  { Headers, ReadableStream, Request: StreamedRequest, Uint8Array, FetchEvent },
  { defaultOrigin },
);

createServer((req, res) => {
  toNodeHandler(methods[req.method === "HEAD" ? "GET" : req.method] ?? refuse)(req, res);
}).listen(process.env.PORT);
