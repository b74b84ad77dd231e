import http from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import {
  idsOf,
  runSuiteBehind,
  runSuiteOnListener,
  runSuite,
  ledgerReceiver,
  type Front,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";

const ALL_PASSED = { failed: [], notJudged: [] };

describe("connections", () => {
  it("a receiver that closes every connection after its answer, unannounced, passes", async () => {
    const front: Front = (req, res) => {
      res.on("finish", () => req.socket.end());
      return true;
    };
    expect(await runSuiteBehind(() => front)).toEqual(ALL_PASSED);
  });

  it("a receiver that closes a kept connection when the next request arrives passes", async () => {
    const createFront = (): Front => {
      const used = new WeakSet();
      return (req) => {
        if (used.has(req.socket)) req.socket.destroy();
        else used.add(req.socket);
        return !req.socket.destroyed;
      };
    };
    expect(await runSuiteBehind(createFront)).toEqual(ALL_PASSED);
  });

  it("a receiver that handles a request on a closing connection and cannot answer it fails no case", async () => {
    const used = new WeakSet();
    const report = await runSuiteOnListener(
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
      // Judged by the outcomes alone: a delivery that was sent twice would be a duplicate.
      { handled: undefined },
    );
    expect(idsOf(report, "failed")).toEqual([]);
  });

  it("a receiver that closes the connection after each refusal passes", async () => {
    const front: Front = (req, res) => {
      res.on("finish", () => {
        if (res.statusCode !== 200) req.socket.end();
      });
      return true;
    };
    expect(await runSuiteBehind(() => front)).toEqual(ALL_PASSED);
  });
});

it.each([
  ["one byte at a time, forever", "."],
  ["with more than any status line", "x".repeat(8_192)],
])("the case invalid_header_bytes ends when a server answers %s", async (_, piece) => {
  const server = http.createServer(nodeHandler(ledgerReceiver(createLedger())));
  server.on("clientError", (_error, socket) => {
    const timer = setInterval(() => socket.write(piece), 5);
    socket.on("error", () => undefined).on("close", () => clearInterval(timer));
  });
  const target = await serving(server);
  const timeoutMs = piece.length === 1 ? 1_500 : 30_000;
  const report = await runSuite({ target, timeoutMs }, ["invalid_header_bytes"]);
  expect(idsOf(report, "passed")).toEqual(["invalid_header_bytes"]);
});

it("the credentials of the URL are in each request, also in those that are written byte by byte", async () => {
  const authorizations = new Set<string | undefined>();
  const handle = nodeHandler(ledgerReceiver(createLedger()));
  const server = http.createServer((req, res) => {
    authorizations.add(req.headers.authorization);
    handle(req, res);
  });
  const target = (await serving(server)).replace("//", "//user:p%40ss%20word@");
  const ids = ["alarm", "keep_alive", "http_1_0", "forged_http_1_0"];
  expect(idsOf(await runSuite({ target }, ids), "passed")).toEqual(ids);
  const credentials = Buffer.from("user:p@ss word").toString("base64");
  expect([...authorizations]).toEqual([`Basic ${credentials}`]);
});

it("a time-out on a kept connection is called one", async () => {
  const handle = nodeHandler(ledgerReceiver(createLedger()));
  const server = http.createServer((req, res) => {
    if (req.headers["transfer-encoding"] === undefined) handle(req, res);
  });
  const target = await serving(server);
  const report = await runSuite({ target, timeoutMs: 400 }, ["split_characters"]);
  expect(report.results[0]?.reason).toContain("no answer (no answer within 400 ms)");
});
