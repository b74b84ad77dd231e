import type { WireRequest } from "../../../kit/sending/wire.js";
import { alarm, onlineDataEvent } from "../deliveries.js";
import {
  bytesOf,
  ensureEqual,
  exchangeWith,
  signed,
  withHeader,
  type AdapterCase,
  type Exchange,
  type ExchangeOptions,
  type Expected,
} from "./adapter-exchange.js";

const HANDLED: Expected = { status: 200, outcome: "handled" };
const MAX_BODY_BYTES = 2_000;

/** A body of `bytes` bytes that is a genuine alarm. */
function alarmOfSize(bytes: number): string {
  const empty = JSON.stringify({ alarm: alarm({ text: "" }) });
  return JSON.stringify({ alarm: alarm({ text: "x".repeat(bytes - empty.length) }) });
}

/** A delivery that must be handled once, with the exact bytes in the handler's context. */
function handled(
  id: string,
  title: string,
  request: () => Promise<WireRequest>,
  options: ExchangeOptions = {},
): AdapterCase {
  return {
    id,
    title,
    run: (target) =>
      exchangeWith(target, options, async (exchange) => {
        const sent = await request();
        await exchange.expect(sent, HANDLED);
        ensureEqual("runs", exchange.runs.length, 1);
        ensureSameBytes(exchange, sent);
      }),
  };
}

function ensureSameBytes({ runs }: Exchange, { body }: WireRequest): void {
  const received = runs[0]?.rawBody;
  ensureEqual("bytes of rawBody", received?.length, body?.length);
  ensureEqual(
    "rawBody is what was sent",
    received?.every((byte, i) => byte === body?.[i]),
    true,
  );
}

const CONTENT_TYPES = [
  ["json_charset", "application/json; charset=utf-8"],
  ["json_latin1", "application/json; charset=latin1"],
  ["problem_json", "application/vnd.api+json"],
  ["text", "text/plain"],
  ["urlencoded", "application/x-www-form-urlencoded"],
  ["multipart", "multipart/form-data; boundary=x"],
  ["octets", "application/octet-stream"],
  ["nonsense", ";;;"],
  ["empty", ""],
] as const;

/** Deliveries that are the gateway's: each is handled once. `receiverConformance` has more of them. */
export const deliveryCases: readonly AdapterCase[] = [
  handled("alarm", "an authentic alarm is handled", () => signed()),
  handled("exact_bytes", "bytes that JSON allows to vary reach the handler unchanged", () => {
    // A byte order mark, odd white space, a key given twice, text beyond ASCII.
    const fields = JSON.stringify(alarm({ text: "Ålarm – тест – 警報 – 🔔" })).slice(1, -1);
    return signed({ body: `\uFEFF\r\n {"alarm" :\t{"id":0, ${fields} , "id":1.0e0}}\n\n` });
  }),
  handled("chunked", "a body without Content-Length is handled", async () => ({
    ...(await signed({ body: alarmOfSize(50_000) })),
    chunked: true,
  })),
  handled(
    "body_at_the_limit",
    "a body of exactly maxBodyBytes is handled",
    () => signed({ body: alarmOfSize(MAX_BODY_BYTES) }),
    { maxBodyBytes: MAX_BODY_BYTES },
  ),
  handled("no_content_type", "a delivery without a content type is handled", async () =>
    withHeader(await signed(), "content-type"),
  ),
  ...CONTENT_TYPES.map(([id, contentType]) =>
    handled(`content_type_${id}`, `content type "${contentType}" is no obstacle`, async () =>
      withHeader(await signed(), "content-type", contentType),
    ),
  ),

  ...["GET", "HEAD", "OPTIONS"].map((method): AdapterCase => ({
    id: `probe_${method.toLowerCase()}`,
    title: `${method} finds the URL, with an empty answer, and runs nothing`,
    run: (target) =>
      exchangeWith(target, {}, async ({ expect, send, runs, receiver }) => {
        const headers = [["x-webhook-type", "new_alarm"]] as const;
        const request = { method, headers, body: undefined };
        const status = method === "OPTIONS" ? 204 : 200;
        await expect(request, { status, outcome: "reachable" });
        ensureEqual("body", (await send(request)).body, "");
        ensureEqual("runs", runs.length, 0);
        await receiver.drain();
        await expect(request, { status: 503, outcome: "draining", retryAfter: "10" });
      }),
  })),
  {
    id: "unhandled",
    title: "a known type that nothing handles is acknowledged",
    run: (target) =>
      exchangeWith(target, { alarmsOnly: true }, async ({ expect, runs }) => {
        const body = JSON.stringify({ event: onlineDataEvent("DATA_DELETED") });
        const event = await signed({ type: "delete_my_data_event", body });
        await expect(event, { status: 200, outcome: "unhandled" });
        ensureEqual("runs", runs.length, 0);
      }),
  },
  {
    id: "keep_alive",
    title: "a connection survives refusals, read and unread bodies",
    run: (target) =>
      exchangeWith(target, {}, async ({ expect, runs, connections }) => {
        const good = await signed();
        const tampered = { ...good, body: bytesOf("x".repeat(100_000)) };
        await expect(
          { ...tampered, method: "PUT" },
          { status: 405, outcome: "method_not_allowed" },
        );
        await expect(tampered, { status: 409, outcome: "signature_mismatch" });
        await expect({ ...tampered, headers: [] }, { status: 409, outcome: "malformed" });
        await expect(good, HANDLED);
        ensureEqual("runs", runs.length, 1);
        ensureEqual("connections", connections() ?? 1, 1);
      }),
  },
];
