import type { IncomingMessage } from "node:http";
import type {} from "node:net";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { recordOf } from "../../kit/sending/wire.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
import { eventually } from "../support/listening-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";

describe("a request that a serverless shim has made up", () => {
  /** As serverless-http makes it: called complete from the start, and its body pushed when asked for. */
  async function lazyRequest(length: boolean): Promise<IncomingMessage> {
    const { headers, body = new Uint8Array(0) } = await oddDelivery();
    const declared = length ? { "content-length": String(body.length) } : {};
    const req = shimRequest({ headers: { ...recordOf(headers), ...declared } });
    req._read = () => {
      req.push(body);
      req.push(null);
    };
    return req;
  }

  /** As others make it: no stream behind it, and its events told by hand. */
  async function toldRequest(body: Uint8Array | string): Promise<IncomingMessage> {
    const { headers } = await oddDelivery();
    const req = shimRequest({ headers: recordOf(headers) });
    req._read = () => {
      for (const chunk of [null, body]) req.emit("data", chunk);
      req.emit("end");
    };
    return req;
  }

  it.each([
    ["bytes", Buffer.from(ODD_BODY)],
    ["a text", ODD_BODY],
  ])(
    "is read where its body is %s, told by an event behind one that tells nothing",
    async (_what, body) => {
      const { receiver, bodies, outcomes } = createBodyReceiver();
      const req = await toldRequest(body);
      nodeHandler(receiver)(req, shimResponse(req).res);
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
      const { res } = shimResponse(req);
      begin(() => {
        nodeHandler(receiver)(req, res);
      });
      await eventually(outcomes).toEqual(["handled"]);
      expect(bodies).toEqual([ODD_BODY]);
    }
  });
});
