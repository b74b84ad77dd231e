import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { recordOf } from "../../kit/sending/wire.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { eventually } from "../support/listening-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";

describe("a request that a serverless shim has made up", () => {
  /** As serverless-http makes it: called complete from the start, and its body pushed when asked for. */
  async function lazyRequest(length: boolean): Promise<IncomingMessage> {
    const { headers, body = new Uint8Array(0) } = await oddDelivery();
    const req = new IncomingMessage({ readable: false } as unknown as Socket);
    const declared = length ? { "content-length": String(body.length) } : {};
    Object.assign(req, { method: "POST", url: "/", complete: true });
    Object.assign(req, { headers: { ...recordOf(headers), ...declared } });
    req._read = () => {
      req.push(body);
      req.push(null);
    };
    return req;
  }

  /** As others make it: no stream behind it, and its events told by hand. */
  async function toldRequest(body: Uint8Array | string): Promise<IncomingMessage> {
    const { headers } = await oddDelivery();
    const req = new IncomingMessage({ readable: false } as unknown as Socket);
    Object.assign(req, { method: "POST", url: "/", headers: recordOf(headers), complete: true });
    req._read = () => {
      for (const chunk of [null, body]) req.emit("data", chunk);
      req.emit("end");
    };
    return req;
  }

  function responseOf(req: IncomingMessage): ServerResponse {
    const res = new ServerResponse(req);
    res.assignSocket(new PassThrough() as unknown as Socket);
    return res;
  }

  it.each([
    ["bytes", Buffer.from(ODD_BODY)],
    ["a text", ODD_BODY],
  ])(
    "is read where its body is %s, told by an event behind one that tells nothing",
    async (_what, body) => {
      const { receiver, bodies, outcomes } = createBodyReceiver();
      const req = await toldRequest(body);
      nodeHandler(receiver)(req, responseOf(req));
      await eventually(outcomes).toEqual(["handled"]);
      expect(bodies).toEqual([ODD_BODY]);
    },
  );

  const starts: readonly (readonly [string, (start: () => void) => void])[] = [
    ["a promise", (start) => void Promise.resolve().then(start)],
    ["an event", (start) => void setImmediate(start)],
  ];

  it.each(starts)("is read in full when it comes from %s", async (_where, begin) => {
    for (const length of [true, false]) {
      const { receiver, bodies, outcomes } = createBodyReceiver();
      const req = await lazyRequest(length);
      const res = responseOf(req);
      begin(() => {
        nodeHandler(receiver)(req, res);
      });
      await eventually(outcomes).toEqual(["handled"]);
      expect(bodies).toEqual([ODD_BODY]);
    }
  });
});
