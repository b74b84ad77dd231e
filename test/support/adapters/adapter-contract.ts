import type { WireRequest } from "../../../kit/sending/wire.js";
import type { WebhookOutcome } from "../../../src/index.js";
import { alarm, onlineDataEvent } from "../deliveries.js";
import { contextCases, handlerCases } from "./adapter-cases-handlers.js";
import {
  bytesOf,
  ensureEqual,
  exchangeWith,
  headerOf,
  signed,
  withHeader,
  type AdapterCase,
  type Exchange,
  type ExchangeOptions,
  type Expected,
} from "./adapter-exchange.js";

export type {
  AdapterAnswer,
  AdapterCase,
  AdapterTarget,
  MountedAdapter,
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

/** Deliveries that are the gateway's: each is handled once. `receiverConformance` has more of them. */
const deliveryCases: readonly AdapterCase[] = [
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
  handled("repeated_signature", "two lines of signatures are one list of them", async () => {
    const request = await signed();
    const other = `v2=abc, v1=${"0".repeat(64)}`;
    return withHeader(request, SIGNATURE, other, headerOf(request, SIGNATURE));
  }),

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

/** A request that must not reach a handler. */
function refused(
  id: string,
  title: string,
  [status, outcome]: readonly [number, WebhookOutcome],
  request: () => Promise<WireRequest>,
  options: ExchangeOptions = {},
): AdapterCase {
  return {
    id,
    title,
    run: (target) =>
      exchangeWith(target, options, async ({ expect, runs }) => {
        await expect(await request(), { status, outcome });
        ensureEqual("runs", runs.length, 0);
      }),
  };
}

const MISMATCH = [409, "signature_mismatch"] as const;
const MALFORMED = [409, "malformed"] as const;
const UNRECOGNIZED = [503, "unrecognized"] as const;
const TOO_LARGE = [409, "body_too_large"] as const;

const ID = "x-webhook-id";
const TIMESTAMP = "x-webhook-timestamp";
const TYPE = "x-webhook-type";
const SIGNATURE = "x-webhook-signature";
const METHODS = ["PUT", "PATCH", "DELETE"];

/**
 * Requests that cannot be proven to be the gateway's, and those that it must not send: one for each
 * outcome, and those where the adapter matters. `receiverConformance` has the others.
 */
const refusalCases: readonly AdapterCase[] = [
  refused("tampered", "a body that was changed is refused", MISMATCH, async () => ({
    ...(await signed()),
    body: bytesOf(JSON.stringify({ alarm: alarm({ account_id: 43 }) })),
  })),
  refused("unsigned", "a delivery without a signature is refused", [409, "unsigned"], async () =>
    withHeader(await signed(), SIGNATURE),
  ),

  ...[ID, TIMESTAMP, TYPE].map((name) =>
    refused(`repeated_${name}`, `${name} given twice is refused`, MALFORMED, async () => {
      const request = await signed();
      const value = headerOf(request, name);
      return withHeader(request, name, value, value);
    }),
  ),

  refused(
    "invalid_utf8",
    "an authentic body that is not UTF-8 is not acknowledged",
    UNRECOGNIZED,
    () => signed({ body: Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d) }),
  ),
  refused("empty_body", "an authentic empty body is not acknowledged", UNRECOGNIZED, () =>
    signed({ body: "" }),
  ),

  refused("too_large", "a body over maxBodyBytes is refused", TOO_LARGE, () => signed(), {
    maxBodyBytes: 100,
  }),
  refused(
    "too_large_chunked",
    "a body that grows beyond maxBodyBytes is refused",
    TOO_LARGE,
    async () => ({ ...(await signed()), chunked: true }),
    { maxBodyBytes: 100 },
  ),
  refused(
    "too_large_by_far",
    "a body far over maxBodyBytes is answered all the same",
    TOO_LARGE,
    async () => ({ ...(await signed()), body: new Uint8Array(3_000_000) }),
  ),
  refused(
    "too_large_reject",
    'with unverifiable: "reject", a body over maxBodyBytes is refused for good',
    [413, "body_too_large"],
    () => signed(),
    { maxBodyBytes: 100, unverifiable: "reject" },
  ),
  ...METHODS.map((method) =>
    refused(
      `method_${method.toLowerCase()}`,
      `${method} is not allowed`,
      [405, "method_not_allowed"],
      async () => {
        const request = await signed();
        return { ...request, method, body: method.startsWith("P") ? request.body : undefined };
      },
    ),
  ),
];

/**
 * What every adapter must do, without a test runner: run each case on a target. It rejects if the target
 * breaks the requirement. It resolves to the answers, which must be the same for all targets.
 */
export const adapterContract: readonly AdapterCase[] = [
  ...deliveryCases,
  ...refusalCases,
  ...handlerCases,
  ...contextCases,
];
