import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";

/** A request that a serverless shim has made up: no socket brings it. */
export function shimRequest(members: object): IncomingMessage {
  const socket = { readable: false, remoteAddress: "127.0.0.1" } as unknown as Socket;
  const req = new IncomingMessage(socket);
  return Object.assign(req, { method: "POST", url: "/", complete: true, ...members });
}

/** Its response, and what is written to it. */
export function shimResponse(req: IncomingMessage) {
  const written = new PassThrough();
  const res = new ServerResponse(req);
  res.assignSocket(written as unknown as Socket);
  return { res, written };
}
