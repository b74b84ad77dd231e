import http from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import {
  idsOf,
  judgeBehind,
  judgeListener,
  judgeTarget,
  ledgerReceiver,
  type Front,
} from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";
import { listen } from "../support/servers.js";

const nothing = { failed: [], notJudged: [] };

describe("a receiver is accused of nothing that", () => {
  it("closes every connection after its answer, unannounced", async () => {
    const front: Front = (req, res) => {
      res.on("finish", () => req.socket.end());
      return true;
    };
    expect(await judgeBehind(() => front)).toEqual(nothing);
  });

  it("closes a kept connection when the next request comes on it", async () => {
    const createFront = (): Front => {
      const used = new WeakSet();
      return (req) => {
        if (used.has(req.socket)) req.socket.destroy();
        else used.add(req.socket);
        return !req.socket.destroyed;
      };
    };
    expect(await judgeBehind(createFront)).toEqual(nothing);
  });

  it("handles what comes on a connection that it is closing, and cannot answer it any more", async () => {
    const used = new WeakSet();
    const report = await judgeListener(
      (ledger) => {
        const receiver = ledgerReceiver(ledger);
        const handle = nodeHandler(receiver);
        return (req, res) => {
          const { socket, method = "", headers } = req;
          if (!used.has(socket)) {
            used.add(socket);
            handle(req, res);
            return;
          }
          void buffer(req)
            .then((body) => receiver.receive({ method, headers, body }))
            .finally(() => socket.destroy());
        };
      },
      // By the outcomes that it names, a delivery that was sent twice is a duplicate.
      { handled: undefined },
    );
    expect(idsOf(report, "failed")).toEqual([]);
  });

  it("closes the connection after each refusal", async () => {
    const front: Front = (req, res) => {
      res.on("finish", () => {
        if (res.statusCode !== 200) req.socket.end();
      });
      return true;
    };
    expect(await judgeBehind(() => front)).toEqual(nothing);
  });
});

it.each([
  ["byte by byte for ever", "."],
  ["and says more than any status line", "x".repeat(8_192)],
])("broken_heads ends where a server answers %s", async (_, piece) => {
  const server = http.createServer(nodeHandler(ledgerReceiver(createLedger())));
  server.on("clientError", (_error, socket) => {
    const timer = setInterval(() => socket.write(piece), 5);
    socket
      .on("error", () => undefined)
      .on("close", () => {
        clearInterval(timer);
      });
  });
  const { port, close } = await listen(server);
  try {
    const target = `http://127.0.0.1:${port}/`;
    const timeoutMs = piece.length === 1 ? 1_500 : 30_000;
    const report = await judgeTarget({ target, timeoutMs }, ["broken_heads"]);
    expect(idsOf(report, "passed")).toEqual(["broken_heads"]);
  } finally {
    await close();
  }
});
