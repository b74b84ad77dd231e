import http, { type OutgoingHttpHeaders, type RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createWebhookReceiver } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import {
  idsOf,
  ledgerReceiver,
  runSuite,
  runSuiteOnListener,
} from "../support/testing/run-suite.js";

/** Stands in front of a receiver. Returns false when it has answered the request itself. */
type Front = (...exchange: Parameters<RequestListener>) => boolean;

/** The cases that a receiver of this library behind a front fails, and those that are not judged. */
async function runSuiteBehind(createFront: () => Front) {
  const front = createFront();
  const report = await runSuiteOnListener((ledger) => {
    const handle = nodeHandler(ledgerReceiver(ledger));
    return (req, res) => {
      if (front(req, res)) handle(req, res);
    };
  });
  return { failed: idsOf(report, "failed"), notJudged: idsOf(report, "not_judged") };
}

const ALL_PASSED = { failed: [], notJudged: [] };

it("a receiver that ignores records which it already knows fails no case", async () => {
  const rows = new Map<unknown, string>();
  const upsert = (record: object, { id }: { id: string }) => {
    const key = "id" in record ? record.id : JSON.stringify(record);
    if (!rows.has(key)) rows.set(key, id);
  };
  const handlers = { new_alarm: upsert, delete_my_data_event: upsert };
  const target = createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false });
  const handled = (id: string) => [...rows.values()].filter((row) => row === id).length;
  for (let run = 0; run < 2; run++) {
    expect(idsOf(await runSuite({ target, handled }), "failed")).toEqual([]);
  }
});

it("a receiver that serves every path, and answers in chunks, fails no case", async () => {
  const chunked: Front = (_req, res) => {
    const writeHead = res.writeHead.bind(res);
    res.writeHead = ((status: number, headers: object) => {
      Reflect.deleteProperty(headers, "content-length");
      return writeHead(status, headers as OutgoingHttpHeaders);
    }) as typeof writeHead;
    return true;
  };
  expect(await runSuiteBehind(() => chunked)).toEqual(ALL_PASSED);
});

it("a receiver with a queue passes, and handled may count the queue or its consumer", async () => {
  const [queue, ledger] = [createLedger(), createLedger()];
  const target = ledgerReceiver({
    record(delivery) {
      void queue.record(delivery);
      ledger.later(() => {
        void ledger.record(delivery);
      });
    },
  });
  const { whileFailing } = queue;
  const behind = await runSuite({ target, handled: ledger.handled, whileFailing });
  expect(idsOf(behind, "failed")).toEqual([]);
  const unjudged = behind.results.find(({ id }) => id === "acknowledged_after_handling");
  expect(unjudged?.result).toBe("not_judged");
  expect(unjudged?.reason).toContain("a queue that survives the process");
  const within = await runSuite({ target, handled: queue.handled, whileFailing });
  expect(idsOf(within, "passed")).toContain("acknowledged_after_handling");
});

it.each(["ok", "handled", "outcome"])(
  "a receiver whose answers contain its secret %s by chance fails no case",
  async (secret) => {
    const target = ledgerReceiver(createLedger(), { secret });
    const report = await runSuite({ target, secret });
    expect(idsOf(report, "failed")).toEqual([]);
    const alarm = report.results.find(({ id }) => id === "alarm");
    expect(alarm?.exchanges.at(-1)?.received).toMatchObject({ body: '{"outcome":"handled"}' });
  },
);

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

it.each([
  ["one byte at a time, forever", "."],
  ["with more than any status line", "x".repeat(8_192)],
])("the case invalid_header_bytes ends when a server answers %s", async (_, piece) => {
  const server = http.createServer(nodeHandler(ledgerReceiver()));
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
  const handle = nodeHandler(ledgerReceiver());
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
  const handle = nodeHandler(ledgerReceiver());
  const server = http.createServer((req, res) => {
    if (req.headers["transfer-encoding"] === undefined) handle(req, res);
  });
  const target = await serving(server);
  const report = await runSuite({ target, timeoutMs: 400 }, ["split_characters"]);
  expect(report.results[0]?.reason).toContain("no answer (no answer within 400 ms)");
});
