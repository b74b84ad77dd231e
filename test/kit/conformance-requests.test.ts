import http from "node:http";
import net from "node:net";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { idsOf, ledgerReceiver, runSuite } from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";

/** A receiver of this library behind a connection that records every byte of the requests. */
async function tappedReceiver() {
  const receiver = http.createServer(nodeHandler(ledgerReceiver(createLedger())));
  const { port } = new URL(await serving(receiver));
  let text = "";
  const tap = net.createServer((socket) => {
    const onward = net.connect(Number(port), "127.0.0.1");
    socket.on("data", (piece) => (text += piece.toString("latin1")));
    socket.on("error", () => onward.destroy()).pipe(onward);
    onward.on("error", () => socket.destroy()).pipe(socket);
  });
  return { target: await serving(tap), sent: () => text };
}

it("the case chunked sends a chunked body and no Content-Length", async () => {
  const { target, sent } = await tappedReceiver();
  const report = await runSuite({ target }, ["chunked"]);
  expect(idsOf(report, "passed")).toEqual(["chunked"]);
  const { headers, bytes } = report.results[0]?.exchanges.at(-1)?.sent ?? {
    headers: [],
    bytes: 0,
  };
  const id = new Map(headers).get("X-Webhook-Id") ?? "none";
  const request = sent()
    .split("POST ")
    .find((one) => one.includes(id));
  const [head = "", body = ""] = request?.split("\r\n\r\n") ?? [];
  expect(head).toMatch(/^transfer-encoding: chunked$/im);
  expect(head).not.toMatch(/content-length/i);
  expect(body.startsWith(`${bytes.toString(16)}\r\n{"alarm":`)).toBe(true);
  expect(request?.endsWith("\r\n0\r\n\r\n")).toBe(true);
});

it("for a receiver of events only the cases that are about alarms fall away", async () => {
  const ledger = createLedger();
  const { handled, whileFailing, whileSlow } = ledger;
  const target = await serving(http.createServer(nodeHandler(ledgerReceiver(ledger))));
  const probes = { handled, whileFailing, whileSlow };
  const report = await runSuite({ target, types: ["delete_my_data_event"], ...probes });
  expect(idsOf(report, "failed")).toEqual([]);
  expect(idsOf(report, "not_judged")).toEqual([
    "alarm",
    "alarm_types",
    "nested_text",
    "odd_payload",
    "type_flip",
  ]);
  const types = report.results.flatMap(({ exchanges }) =>
    exchanges.map(({ sent }) => new Map(sent.headers).get("X-Webhook-Type")),
  );
  expect(types).not.toContain("new_alarm");
});

it("the suite sends the odd records that come as fixtures, of either type", async () => {
  const bodies: string[] = [];
  const receiver = ledgerReceiver(createLedger());
  const target = async (request: Request): Promise<Response> => {
    const body = new Uint8Array(await request.arrayBuffer());
    bodies.push(new TextDecoder().decode(body));
    const { method, headers } = request;
    const { status } = await receiver.receive({ method, headers, body });
    return new Response("", { status });
  };
  const ids = ["unknown_fields", "unknown_values", "date_formats", "non_ascii", "big_alarm"];
  const cases = [...ids, "legacy_values", "odd_payload", "odd_values", "odd_members"];
  await runSuite({ target }, cases);
  const [alarms, events] = ['"alarm":{', '"event":{'].map((key) =>
    bodies.filter((body) => body.includes(key)).join("\n"),
  );
  for (const text of [alarms, events]) {
    expect(text).toContain('"__proto__":{');
    expect(text).toContain("[[[[[[");
    expect(text).toContain('{"meta":{');
    expect(text).toMatch(/"account_id":(?:2[1-9]|[3-4]\d)\d{8}\b/);
    expect(text).toMatch(/"account_id":"\d+"/);
    expect(text).toMatch(/"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"/);
    expect(text).toMatch(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/);
    expect(text).toContain("警報");
    expect(text).toContain("x".repeat(200 * 1024));
  }
  for (const payload of ['"payload":""', '"payload":"{\\"breach'])
    expect(alarms).toContain(payload);
  expect(alarms).toContain('"status":"SNOOZED"');
  expect(events).toContain('"severity":"NOTICE"');
});
